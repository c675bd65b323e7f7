from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest

from preceptor import Settings, open_preceptor
from preceptor.domain.models import Capabilities
from preceptor.testing import SteadyWorld
from tests.conftest import client_of
from tests.surfaces.helpers import new_key, problem, rows
from tests.surfaces.talking import Talk, talking, text_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(32))
NOTES = "Töne & <b>Namen</b>".encode()


def pdf(text: str) -> bytes:
    """A whole PDF of one page."""
    stream = f"BT /F1 24 Tf 72 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources <</Font <</F1 5 0 R>>>>>>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = b"%PDF-1.4\n", list[int]()
    for number, one in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    tail = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, table) + tail


@pytest.fixture
async def talk(settings: Settings) -> AsyncGenerator[Talk]:
    async with talking(settings) as opened:
        yield opened


async def upload(talk: Talk, data: bytes, name: str = "notes.txt", kind: str = "") -> httpx2.Response:
    given: Any = (name, data, kind) if kind else (name, data)
    return await talk.client.post("/api/attachments", files={"file": given})


async def attach(talk: Talk, data: bytes, name: str = "notes.txt") -> str:
    made = await upload(talk, data, name)
    assert made.status_code == 201, made.text
    return made.json()["attachmentId"]


async def send(talk: Talk, text: str, *ids: str, at: str = "messages", **more: str) -> httpx2.Response:
    parts = [{"type": "text", "text": text}, *({"type": "attachment", "attachmentId": one} for one in ids)]
    return await talk.post(at, {"content": parts, **more})


KINDS = {
    "text": (NOTES, "a.md", "text/markdown; charset=utf-8", "text/markdown", 19),
    "JSON": (b'{"a": 1}', "a.json", "application/json", "application/json", 8),
    "text of no declared kind": (NOTES, "a.bin", "application/octet-stream", "text/plain", 19),
    "text with a mark": (b"\xef\xbb\xbfx", "a.txt", "text/plain", "text/plain", 1),
    "a PDF": (pdf("Hello from a page"), "a.pdf", "text/plain", "application/pdf", 17),
    "an image": (PNG, "a.png", "image/jpeg", "image/png", None),
}


@pytest.mark.parametrize("case", KINDS.values(), ids=KINDS)
async def test_a_file_is_what_its_bytes_are_and_says_how_much_text_is_in_it(talk: Talk, case: Any):
    data, name, declared, kind, characters = case
    made = await upload(talk, data, name, declared)
    told = made.json()
    assert (made.status_code, told["mediaType"], told["characters"]) == (201, kind, characters)
    assert (told["name"], told["size"]) == (name, len(data))


async def test_a_part_may_be_sent_as_it_is_read_and_only_its_id_is_believed(talk: Talk):
    mine = await attach(talk, NOTES)
    part = {"type": "attachment", "attachmentId": mine, "mediaType": "image/png", "name": "something else.png"}
    assert (await talk.post("messages", {"content": [part]})).status_code == 200
    [message, _] = await talk.messages()
    assert message["parts"][0] == part | {"mediaType": "text/plain", "name": "notes.txt"}


async def test_what_a_file_says_is_quoted_in_the_message_and_the_call_can_be_rebuilt(talk: Talk):
    first, second = await attach(talk, NOTES), await attach(talk, pdf("Hello from a page"), "page.pdf")
    answer = await send(talk, "Read these.", first, second)
    assert answer.status_code == 200
    [message, _] = await talk.messages()
    assert [part["type"] for part in message["parts"]] == ["text", "attachment", "text", "attachment", "text"]
    assert message["parts"][1] == {
        "type": "attachment",
        "attachmentId": first,
        "mediaType": "text/plain",
        "name": "notes.txt",
    }
    fenced = message["parts"][2]["text"]
    assert fenced.strip().splitlines() == [
        f'<attachment id="{first}" name="notes.txt" type="text/plain">',
        "Töne &amp; &lt;b&gt;Namen&lt;/b&gt;",
        "</attachment>",
    ]
    assert "Hello from a page" in talk.script.shown[0]
    context = (await talk.client.get(f"/api/messages/{answer.json()['message']['id']}/context")).json()
    assert (context["intact"], context["unattributedTokens"]) == (True, 0)


async def test_an_image_is_shown_to_a_model_that_takes_images_in_every_later_turn(talk: Talk):
    await talk.client.patch("/api/agents/assistant", json={"guard": {"images": True}})
    answer = await send(talk, "What is this?", await attach(talk, PNG, "x.png"))
    await talk.say("And what else?")
    for message_id in (answer.json()["message"]["id"], (await talk.messages())[-1]["id"]):
        context = (await talk.client.get(f"/api/messages/{message_id}/context")).json()
        assert (context["intact"], context["unattributedTokens"]) == (True, 0)
        [text, image] = context["request"]["messages"][1]["content"]
        assert "What is this?" in text["text"]
        assert image["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")
    stored = (await talk.messages())[0]["parts"][1]
    assert "data" not in stored


async def test_an_image_for_a_model_that_takes_none_is_refused_and_nothing_is_said(settings: Settings):
    async with talking(settings, capabilities=Capabilities(plans=False, images=False)) as talk:
        image = await attach(talk, PNG, "x.png")
        before = await talk.events()
        refused = await send(talk, "What is this?", image)
        assert "takes no images" in problem(refused, 422, "invalid")["detail"]
        assert await talk.events() == before


async def test_a_file_belongs_to_who_sent_it_and_to_the_conversation_it_was_sent_in(talk: Talk):
    mine = await attach(talk, NOTES)
    other = (await talk.client.post("/api/conversations", json={"agentId": "assistant"})).json()["conversationId"]
    body = {"content": [{"type": "attachment", "attachmentId": mine}]}
    assert (await send(talk, "Read.", mine)).status_code == 200
    assert (await send(talk, "Again.", mine)).status_code == 200
    problem(await talk.client.post(f"/api/conversations/{other}/messages", json=body), 409, "conflict")
    await talk.client.post("/api/users", json={"userId": "eve", "name": "Eve", "role": "viewer"})
    eve = await new_key(talk.client, role="viewer", userId="eve")
    started = await talk.client.post("/api/conversations", json={"agentId": "assistant"}, headers=eve)
    path = f"/api/conversations/{started.json()['conversationId']}/messages"
    foreign = await talk.client.post(path, json=body, headers=eve)
    absent = await talk.client.post(
        path, json={"content": [{"type": "attachment", "attachmentId": "nothing"}]}, headers=eve
    )
    assert (
        problem(foreign, 404, "not_found")["detail"].replace(mine, "nothing")
        == problem(absent, 404, "not_found")["detail"]
    )


async def test_an_answer_given_again_reads_the_same_file_and_an_edit_brings_its_own(talk: Talk):
    first = await attach(talk, b"first file")
    await send(talk, "Read.", first)
    await talk.post("regenerate")
    assert talk.script.shown[0].count("first file") == 1
    question = (await talk.messages())[0]["id"]
    await send(talk, "Read this.", await attach(talk, b"second file"), at="edit", messageId=question)
    assert ("second file" in talk.script.shown[0], "first file" in talk.script.shown[0]) == (True, False)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00x", b"a\x00b", b"%PDF-1.4 nothing", pdf("")], ids=range(5))
async def test_a_file_that_cannot_be_read_is_refused_and_not_kept(talk: Talk, data: bytes):
    before = rows(talk.preceptor)
    problem(await upload(talk, data), 422, "invalid")
    assert rows(talk.preceptor) == before


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_file_above_the_limit_is_refused_and_one_at_the_limit_is_not(settings: Settings):
    async with talking(settings.model_copy(update={"max_attachment_bytes": 2000})) as talk:
        assert (await upload(talk, b"x" * 2000)).status_code == 201
        for size in (2001, 50_000):
            told = problem(await upload(talk, b"x" * size), 413, "payload_too_large")
            assert "PRECEPTOR_MAX_ATTACHMENT_BYTES" in told["detail"]


LONG = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\nX-Long: %b\r\n\r\nx\r\n--b--\r\n'
FORM = "multipart/form-data; boundary=b"
FORMS = {
    "JSON": (b'{"file": "x"}', "application/json", 415, "unsupported_media_type"),
    "no boundary": (b"x", "multipart/form-data", 415, "unsupported_media_type"),
    "no end": (LONG[:60], FORM, 400, "malformed_json"),
    "no form": (b"hello", FORM, 400, "malformed_json"),
    "a long header": (LONG % (b"x" * 5000), FORM, 400, "malformed_json"),
}


@pytest.mark.parametrize("case", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_body_that_is_no_whole_form_is_refused(talk: Talk, case: tuple[bytes, str, int, str]):
    body, kind, status, code = case
    answer = await talk.client.post("/api/attachments", content=body, headers={"Content-Type": kind})
    problem(answer, status, code)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_form_holds_one_file_and_nothing_else(talk: Talk):
    for files in ({"other": ("a", b"x")}, {"file": ("a", b"x"), "more": ("b", b"y")}):
        problem(await talk.client.post("/api/attachments", files=files), 422, "invalid")
    odd = b'--b\r\nContent-Disposition: form-data; name="\xf1\xa2\x8f\xbb"\r\n\r\nx\r\n--b--\r\n'
    form = {"content-type": "multipart/form-data; boundary=b"}
    problem(await talk.client.post("/api/attachments", content=odd, headers=form), 422, "invalid")
    three = {"file": ("a", b"x"), "b": ("b", b"y"), "c": ("c", b"z")}
    problem(await talk.client.post("/api/attachments", files=three), 400, "malformed_json")
    problem(await talk.client.post("/api/attachments"), 422, "invalid")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_files_name_is_its_last_part_without_what_cannot_be_seen(talk: Talk):
    for given, kept in {
        "../../etc/passwd": "passwd",
        "C:\\x\\y.txt": "y.txt",
        "a" * 300: "a" * 200,
        "báo-cáo-отчёт.txt": "báo-cáo-отчёт.txt",
    }.items():
        assert (await upload(talk, b"x", given)).json()["name"] == kept


async def test_a_long_text_is_cut_and_says_so(talk: Talk):
    made = await attach(talk, b"x" * 300_000)
    await send(talk, "Read.", made)
    assert "[… 100000 more characters are left out.]" in text_of((await talk.messages())[0])


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_file_that_is_never_sent_is_forgotten_after_a_day(settings: Settings):
    world = SteadyWorld()
    async with open_preceptor(settings, world=world) as preceptor, client_of(preceptor) as client:
        await client.post("/api/attachments", files={"file": ("a", b"x")})
        world.move(hours=23)
        await preceptor.installation.sweep()
        assert rows(preceptor)["attachments"] == 1
        world.move(hours=2)
        await preceptor.installation.sweep()
        assert rows(preceptor)["attachments"] == 0
