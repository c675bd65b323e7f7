"""A replay that goes on: turn after turn, several at once, each kept as soon as it is done."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from preceptor.domain.ids import ConversationId, FamilyId, InstructionId, TaskId, TurnId, UserId
from preceptor.domain.ownership import Caller, Permission
from preceptor.domain.replays.comparing import Digest, compared, sums_of
from preceptor.domain.replays.facts import Accepted, Ended, Fact, Progressed, Standing, event, fold
from preceptor.domain.replays.gate import Gate, GateVerdict, objections
from preceptor.domain.replays.replay import VALIDITY, NewReplay, Progress, Status, Summary, Sums, Verdict
from preceptor.engine.contexts import Format
from preceptor.engine.replaying.one import Replaying
from preceptor.engine.replaying.retelling import Changes
from preceptor.engine.repositories.tasks import ItemRow, TaskRow
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.tasks.tasks import Carrier, Claim, TaskLog

_DIGEST = msgspec.json.Decoder(Digest)


class ReplayRun(msgspec.Struct):
    claim: Claim
    session: Session
    """Acting with the permissions of whoever asked for it."""
    log: TaskLog
    standing: Standing
    digests: dict[int, Digest] = {}

    @property
    def accepted(self) -> Accepted:
        assert self.standing.accepted is not None
        return self.standing.accepted

    @property
    def asked(self) -> NewReplay:
        return NewReplay.model_validate(self.accepted.asked)

    def note(self, fact: Fact) -> None:
        self.log.waiting.append(event(fact))
        self.standing.tell(fact, self.session.world.now())

    def row(self) -> TaskRow:
        row, standing = self.claim.row, self.standing
        body = summary_of(row.task_id, row.user_id, standing, list(self.digests.values())).model_dump_json()
        cancel = None if standing.cancelled is None else standing.cancelled.by
        return replace(row, open=standing.ended is None, status=standing.status.value, cancel=cancel, body=body)

    async def commit(self) -> None:
        await self.log.commit(self.row)


def carrier(formats: dict[str, Format]) -> Carrier:
    """How replays are carried out."""

    async def carry(claim: Claim) -> None:
        await _replay(await _taken_up(claim), formats)

    async def fail(claim: Claim, code: str, sentence: str) -> None:
        run = await _taken_up(claim)
        await _settle(run, Ended(status=Status.FAILED, code=code, sentence=sentence))

    return Carrier(carry, fail)


async def _taken_up(claim: Claim) -> ReplayRun:
    standing = fold(claim.events)
    assert standing.accepted is not None
    permissions = frozenset(map(Permission, standing.accepted.permissions))
    session = claim.session.acting_as(Caller(claim.session.caller.owner, permissions, "replay"))
    log = TaskLog(claim.session, claim.row.task_id, claim.epoch)
    digests = await session.read(lambda work: read_digests(work, claim.row.task_id))
    return ReplayRun(claim, session, log, standing, digests)


async def read_digests(work: Work, replay_id: TaskId) -> dict[int, Digest]:
    return {place: _DIGEST.decode(digest) for place, digest in await work.replays.digests(replay_id)}


async def _replay(run: ReplayRun, formats: dict[str, Format]) -> None:
    if run.standing.cancelled is not None:
        await _settle(run, Ended(status=Status.CANCELLED))
        return
    asked, turns = run.asked, run.accepted.turns
    versions = await run.session.read(lambda work: _versions(work, asked))
    replaying = Replaying(run.session, versions, asked.mode, asked.replies, formats)
    left = iter([place for place in range(len(turns)) if place not in run.digests])

    async def lane() -> None:
        for place in left:
            item, digest = await replaying.item(TurnId(turns[place]))
            await _keep(run, place, item.model_dump_json(), digest)

    await run.session.means.runner.together([lane() for _ in range(asked.concurrency)])
    await _settle(run, Ended(status=Status.COMPLETED))


async def _versions(work: Work, asked: NewReplay) -> Changes:
    named = {family: InstructionId(one) for family, one in asked.overrides.instructions.items()}
    found = await work.instructions.named(sorted(set(named.values()))) if named else {}
    return Changes(asked.overrides, {FamilyId(family): found[one] for family, one in named.items() if one in found})


async def _keep(run: ReplayRun, place: int, body: str, digest: Digest) -> None:
    run.digests[place] = digest
    said = msgspec.json.encode(digest).decode()
    row = ItemRow(place, ConversationId(digest.conversation), not digest.same, said, body)
    replay_id = run.claim.row.task_id

    async def beside(work: Work) -> None:
        await work.replays.add(replay_id, row)

    run.log.beside.append(beside)
    run.note(Progressed(done=len(run.digests), total=len(run.accepted.turns)))
    await run.commit()


async def _settle(run: ReplayRun, ended: Ended) -> None:
    gate, replay_id = run.accepted.gate, run.claim.row.task_id
    if gate is not None and ended.status is Status.COMPLETED:
        sums = sums_of(list(run.digests.values()))

        async def judge(work: Work) -> None:
            await _judge(work, Verdict.model_validate(gate), replay_id, sums)

        run.log.beside.append(judge)
    run.note(ended)
    await run.commit()


async def _judge(work: Work, wanted: Verdict, replay_id: TaskId, sums: Sums) -> None:
    """Write down whether the version may pass, if the gate is still there."""
    family, instruction = FamilyId(wanted.family_id), InstructionId(wanted.instruction_id)
    body = await work.gates.find(family, wanted.label)
    if body is None:
        return
    reasons = objections(Gate.model_validate_json(body), sums)
    verdict = GateVerdict(
        instruction_id=instruction, replay_id=replay_id, passed=not reasons, reasons=reasons, judged_at=work.now
    )
    await work.gates.judge(family, wanted.label, instruction, verdict.model_dump_json())


def summary_of(replay_id: TaskId, user_id: UserId, standing: Standing, digests: Sequence[Digest]) -> Summary:
    accepted, ended = standing.accepted, standing.ended
    assert accepted is not None
    assert standing.created is not None
    asked = NewReplay.model_validate(accepted.asked)
    return Summary(
        replay_id=replay_id,
        status=standing.status,
        mode=asked.mode,
        replies=asked.replies,
        overrides=asked.overrides,
        validity=VALIDITY[asked.mode, asked.replies],
        progress=Progress(done=len(digests), total=len(accepted.turns)),
        summary=sums_of(digests),
        comparison=() if ended is None else compared(digests),
        gate=None if accepted.gate is None else Verdict.model_validate(accepted.gate),
        code=ended and ended.code,
        sentence=ended and ended.sentence,
        user_id=user_id,
        created_at=standing.created,
        ended_at=standing.ended_at,
    )
