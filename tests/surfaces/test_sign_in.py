import httpx2

LINKS = "/api/sign-in-links"


async def test_a_link_signs_in_whoever_opens_it_first_and_no_one_after(client: httpx2.AsyncClient):
    made = await client.post(LINKS)
    assert made.status_code == 201
    link = made.json()
    assert link["path"] == f"/login?token={link['token']}"
    assert [(await client.get(link["path"])).status_code for _ in range(2)] == [303, 401]


async def test_the_same_request_sent_twice_makes_one_link(client: httpx2.AsyncClient):
    once = {"Idempotency-Key": "a-link-please"}
    first, again = [await client.post(LINKS, headers=once) for _ in range(2)]
    assert first.json() == again.json()
    assert again.headers["idempotent-replayed"] == "true"
