"""History on its own: fit any list of OpenAI-style messages into a budget, summarising what is old."""

from preceptor.history import FromLastNMessages, RequestParameters, SummaryRequest, fit

messages = [{"role": "system", "content": "You are a helpful clerk."}]
for number in range(12):
    messages.append({"role": "user", "content": f"Where is order {number}?"})
    messages.append({"role": "assistant", "content": f"Order {number} left the warehouse on Monday."})
messages.append({"role": "user", "content": "And which one was the first?"})


def count(text: str) -> int:
    """Use your model's tokenizer here."""
    return len(text) // 4 + 1


def summarise(request: SummaryRequest) -> str:
    """Call your model here: `request.system` is the system prompt, `request.transcript` the only message."""
    return f"The user asked after {len(request.sources) // 2 + 1} orders; all left the warehouse on Monday."


asked = RequestParameters(compression_strategy=FromLastNMessages(n=4), max_tokens=400)
fitted = fit(messages, asked, count, summarise)
for message in fitted.messages:
    print(f"{message['role']:>9}: {message['content']}")
print(f"{len(messages)} messages became {len(fitted.messages)}, {fitted.tokens} tokens")
