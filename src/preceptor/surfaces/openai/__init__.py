"""The API that clients of OpenAI speak: every agent is a model."""
