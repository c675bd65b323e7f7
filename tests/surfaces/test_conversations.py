import httpx2

AGENT = {"agentId": "assistant"}


async def test_a_conversation_is_read_back_as_it_was_started(client: httpx2.AsyncClient):
    started = await client.post("/api/conversations", json=AGENT | {"title": "Xin chào", "metadata": {"a": [1, None]}})
    read = await client.get(f"/api/conversations/{started.json()['conversationId']}")
    assert (started.status_code, read.status_code) == (201, 200)
    assert started.json() == read.json()
    assert started.headers["etag"] == read.headers["etag"] == '"1"'
