"""What goes on by itself, files and outcomes, by the Python client over real sockets: named, typed, and done once."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from preceptor.client import ApiError, AsyncPreceptor, SyncPreceptor
from preceptor.domain.executions.execution import Status as ExecutionStatus
from preceptor.domain.executions.execution import Summary
from preceptor.domain.experiments.experiment import Status
from preceptor.domain.experiments.results import Results
from preceptor.domain.replays.replay import Replay
from tests.serving import Served, serving

LOADS: dict[str, Any] = {"type": "agent.loadInstructions", "resource": {"type": "agent", "id": "assistant"}}
STEPS: list[dict[str, Any]] = [{"index": 0, "name": "Load", "command": LOADS}]


@pytest.fixture
def served(tmp_path: Path) -> Generator[Served]:
    script = tmp_path / "script.json"
    script.write_text('["One.", "Two.", "Three.", "Four."]', encoding="utf-8")
    model = {"PRECEPTOR_MODEL": f"scripted:{script}", "PRECEPTOR_SGR_ENABLED": "false"}
    with serving(tmp_path / "data", **model) as made:
        yield made


@pytest.fixture
def preceptor(served: Served) -> Generator[SyncPreceptor]:
    with SyncPreceptor(served.url, key=served.admin_key) as made:
        yield made


def test_an_execution_is_followed_to_its_end_and_made_once(preceptor: SyncPreceptor):
    made = preceptor.executions.create(steps=STEPS, idempotency_key="load-it")
    again = preceptor.executions.create(steps=STEPS, idempotency_key="load-it")
    assert again.execution_id == made.execution_id
    with pytest.raises(ApiError) as other:
        preceptor.executions.create(steps=STEPS, category="other", idempotency_key="load-it")
    assert (other.value.status, other.value.code) == (422, "idempotency_mismatch")
    events = list(preceptor.executions.events(made.execution_id))
    assert (events[0].kind, events[-1].kind) == ("execution.accepted", "execution.completed")
    assert preceptor.executions.get(made.execution_id).status is ExecutionStatus.COMPLETED
    assert list(preceptor.executions.events(made.execution_id, after=events[-1].seq)) == []
    (listed,) = preceptor.executions.page(status="completed").items
    assert isinstance(listed, Summary)
    with pytest.raises(ApiError) as unknown:
        list(preceptor.executions.events("none"))
    assert unknown.value.code == "not_found"


def test_a_turn_is_replayed_rated_and_told_apart(preceptor: SyncPreceptor):
    turn = preceptor.say("Where is my order?")
    assert turn.message is not None
    replay = preceptor.replays.create(turn_ids=[turn.turn_id], replies="recorded")
    assert list(preceptor.replays.events(replay.replay_id))[-1].kind == "replay.completed"
    done = preceptor.replays.get(replay.replay_id)
    assert isinstance(done, Replay)
    assert [one.same for one in preceptor.replays.items(replay.replay_id).items] == [True]
    assert preceptor.replays.items(replay.replay_id, changed=True).items == ()
    assert preceptor.outcomes.rate(turn.message.id, 5).score == 5
    assert preceptor.outcomes.tell(turn.conversation_id, "resolution", value=True).value is True
    told = preceptor.reasoning.back_test(thresholds={"spamScore": 0.5}, from_="2020-01-01T00:00:00Z")
    assert told.turns == 1
    assert preceptor.reasoning.metrics(agent_id="assistant", from_="2020-01-01T00:00:00Z")
    assert next(one.table_id for one in preceptor.reasoning.tables().items) == "DT-001"


def test_an_experiment_is_drafted_started_and_promoted(preceptor: SyncPreceptor):
    arms = {"variant": {"parameters": {"temperature": 0.5}}}
    made = preceptor.experiments.create(name="Warmer", agent_ids=["assistant"], settings=arms, status="draft")
    assert made.status is Status.DRAFT
    assert preceptor.experiments.start(made.experiment_id).status is Status.RUNNING
    assert isinstance(preceptor.experiments.results(made.experiment_id), Results)
    assert preceptor.experiments.conversations(made.experiment_id, arm="variant").items == ()
    assert preceptor.experiments.promote(made.experiment_id, arm="control").status is Status.PROMOTED
    assert [one.name for one in preceptor.experiments.page(status="promoted").items] == ["Warmer"]
    with pytest.raises(ApiError) as refused:
        preceptor.experiments.create(name="None", agent_ids=["nobody"], settings=arms)
    assert (refused.value.code, refused.value.problem["code"]) == ("not_found", "not_found")


def test_a_label_moves_through_its_gate(preceptor: SyncPreceptor):
    preceptor.say("Hello?")
    made = preceptor.instructions.create(name="Tone", type="system", content={"systemPrompt": "Be kind."})
    preceptor.gates.put(made.family_id, "production", turns=1)
    with pytest.raises(ApiError) as closed:
        preceptor.instructions.move_label(made.family_id, "production", made.instruction_id)
    assert closed.value.code == "gate_closed"
    tried = preceptor.gates.run(made.family_id, "production", made.instruction_id)
    list(preceptor.replays.events(tried.replay_id))
    assert preceptor.gates.get(made.family_id, "production").turns == 1
    preceptor.gates.remove(made.family_id, "production")
    label = preceptor.instructions.move_label(made.family_id, "production", instruction_id=made.instruction_id)
    assert label.name == "production"
    found = preceptor.instructions.page(type_="system", q="Tone", tags=[])
    assert [one.family_id for one in found.items] == [made.family_id]


def test_a_file_is_sent_and_a_question_answered_again_as_it_happens(preceptor: SyncPreceptor):
    file = preceptor.attachments.add(b"Order 7 is on its way.", "order.txt", "text/plain", idempotency_key="the-file")
    same = preceptor.attachments.add(b"Order 7 is on its way.", "order.txt", "text/plain", idempotency_key="the-file")
    assert same.attachment_id == file.attachment_id
    parts = [{"type": "text", "text": "Where?"}, {"type": "attachment", "attachmentId": file.attachment_id}]
    conversation = preceptor.conversations.start(agent_id="assistant").conversation_id
    first = list(preceptor.messages.stream(conversation, parts, idempotency_key="the-question"))
    told_again = list(preceptor.messages.stream(conversation, parts, idempotency_key="the-question"))
    assert [one.seq for one in told_again] == [one.seq for one in first]
    events = list(preceptor.messages.stream_regenerated(conversation))
    assert "".join(event.text for event in events) == "Two."
    question = preceptor.messages.page(conversation).items[0].id
    edited = list(preceptor.messages.stream_edited(conversation, question, "When?"))
    assert edited[-1].turn is not None
    heard: list[int] = []
    for event in preceptor.conversations.events(conversation, after=first[0].seq):
        heard.append(event.seq)
        if event.seq == edited[-1].seq:
            break
    assert heard == sorted(set(heard))
    assert heard[0] > first[0].seq


async def test_the_client_that_awaits_has_the_same_operations(served: Served):
    async with AsyncPreceptor(served.url, key=served.admin_key) as preceptor:
        made = await preceptor.executions.create(steps=STEPS)
        events = [event async for event in preceptor.executions.events(made.execution_id)]
        assert events[-1].kind == "execution.completed"
        turn = await preceptor.say("Hello?", queue=True)
        replay = await preceptor.replays.create(turn_ids=[turn.turn_id], replies="recorded")
        kinds = [event.kind async for event in preceptor.replays.events(replay.replay_id)]
        assert (kinds[0], kinds[-1]) == ("replay.accepted", "replay.completed")
        with pytest.raises(ApiError) as unknown:
            await preceptor.replays.get("none")
        assert (unknown.value.status, unknown.value.code) == (404, "not_found")
        file = await preceptor.attachments.add(b"Text.", "a.txt", "text/plain")
        assert file.media_type == "text/plain"
        link = await preceptor.sign_in_links.create()
        assert link.path.startswith("/login")
