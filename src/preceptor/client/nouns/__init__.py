"""The nouns of the API: each operation once, for both kinds of client. A test holds them to the OpenAPI document."""
