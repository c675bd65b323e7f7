"""Databases that earlier versions wrote: opened by this one, nothing in them has changed.

`tests/data/written-at-<revision>.db.gz` holds five turns with delegations, a tool, a squash and a summary. Whoever adds
a migration leaves these files as they are.
"""

import gzip
from pathlib import Path

import pytest

from preceptor import open_preceptor
from preceptor.adapters.models.registry import ModelRegistry
from preceptor.adapters.storage.opening import locate
from preceptor.adapters.storage.verifying import verify
from preceptor.domain.messages.message import Text
from preceptor.engine.conversations import Wanted
from preceptor.testing import ScriptedModel
from tests.rebuilding import every_call_is_rebuilt
from tests.requirements import covers
from tests.talking import settings_in

WRITTEN = sorted(Path(__file__, "..", "data").resolve().glob("written-at-*.db.gz"))
CALLS = 13


def unpacked(path: Path, folder: Path) -> Path:
    (folder / "preceptor.db").write_bytes(gzip.decompress(path.read_bytes()))
    return folder


@covers("F23")
@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name.removesuffix(".db.gz"))
async def test_every_call_is_rebuilt_after_an_upgrade_and_the_conversation_goes_on(tmp_path: Path, path: Path):
    settings = settings_in(unpacked(path, tmp_path))
    models = ModelRegistry(settings)
    models.add("local", ScriptedModel(["As before."]))
    async with open_preceptor(settings, models=models) as preceptor:
        assert await every_call_is_rebuilt(preceptor) == CALLS
        [conversation] = (await preceptor.conversations.page(Wanted())).items
        answer = await preceptor.turns.say(conversation.conversation_id, [Text("Still there?")])
        assert answer.response == "As before."
        assert await every_call_is_rebuilt(preceptor) == CALLS + 1
    assert verify(locate(settings.database), None).ok


def test_there_is_something_to_upgrade():
    assert WRITTEN
