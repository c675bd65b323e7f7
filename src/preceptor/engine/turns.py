"""Turns: say something, wait for what comes of it, read it again, stop it."""

from collections.abc import Coroutine, Sequence
from typing import Any

import msgspec

from preceptor.domain.conversations.conversation import NewConversation
from preceptor.domain.errors import Conflict, Invalid, NotFound, phrased
from preceptor.domain.ids import ConversationId, OrgId, StreamId, TurnId, UserId
from preceptor.domain.messages.directive import Directive
from preceptor.domain.messages.message import AnyPart, says_something
from preceptor.domain.ownership import SYSTEM, Caller, Owner
from preceptor.domain.prompts.parameters import AS_USUAL, RequestParameters
from preceptor.domain.turns.decisions import told as decided
from preceptor.domain.turns.facts import CancelRequested, Ended, TurnStatus, event
from preceptor.domain.turns.measures import measured
from preceptor.domain.turns.turn import Turn, fold
from preceptor.domain.value import made
from preceptor.engine.following import events_of
from preceptor.engine.means.errands import NOBODY, TURN, Errand
from preceptor.engine.means.recalling import recall
from preceptor.engine.repositories.conversations import TurnRow
from preceptor.engine.repositories.work import Program, Work
from preceptor.engine.seeing import found, seen
from preceptor.engine.session import IdempotencyInProgress, Replayed, Session
from preceptor.engine.starting import start
from preceptor.engine.taking.accepting import Wanted, accept
from preceptor.engine.taking.answers import Answer, answer_of
from preceptor.engine.taking.beside import Beside
from preceptor.engine.taking.carrying import Taken, carry, elsewhere
from preceptor.engine.taking.directing import may_direct
from preceptor.engine.taking.orphans import orphans
from preceptor.engine.turn.run import Run
from preceptor.engine.viewing.branching import Again

HEEDED = 2.5
"""Seconds within which another process hears that its turn is to stop."""


class Turns(msgspec.Struct, frozen=True):
    session: Session

    async def say(
        self,
        conversation_id: ConversationId,
        parts: Sequence[AnyPart],
        parameters: RequestParameters | None = None,
        *,
        queue: bool = False,
    ) -> Answer:
        """One user message, one turn; answers when it has settled."""
        taken = await self.begin(conversation_id, parts, parameters, queue=queue)
        return answer_of(conversation_id, await self.settled(taken))

    async def begin(  # noqa: PLR0913 - all that can be said of a message
        self,
        conversation_id: ConversationId,
        parts: Sequence[AnyPart],
        parameters: RequestParameters | None = None,
        again: Again | None = None,
        *,
        directives: Sequence[Directive] = (),
        background: bool = False,
        queue: bool = False,
    ) -> Taken:
        """Accept a message and let its turn go on by itself; in the `background`, in whichever process has room.

        With `queue` it waits for the turns that were asked for before it, if they are not too many.
        """
        if again is None and not says_something(parts):
            raise Invalid("Say something: there is neither text nor a file.")
        may_direct(self.session.caller, directives)
        turn_id = TurnId(self.session.world.new_id())
        waits = background and self.session.means.errands is not None

        async def program(work: Work) -> tuple[Run, int]:
            known = await recall(work, self.session.means.memory, conversation_id)
            there = await work.conversations.find(conversation_id) if known is None else known.conversation
            conversation = seen(there, self.session.caller, conversation_id)
            told = parameters or AS_USUAL
            wanted = Wanted(conversation, tuple(parts), told, again, tuple(directives), waits=waits, queued=queue)
            return await accept(work, self.session, wanted, turn_id)

        def started() -> Coroutine[Any, Any, Taken]:
            return self.start(turn_id, program, waits=waits, unended=background)

        if not queue:
            return await started()
        from preceptor.engine.taking.queueing import in_turn  # few messages wait

        try:
            return await in_turn(self.session, conversation_id, started)
        except Replayed as known:
            return await self._known(TurnId(known.answer.decode()), unended=background)

    async def open(self, parts: Sequence[AnyPart], **fields: Any) -> Taken:
        """A conversation and what is said in it first: both, or neither."""
        new = made(NewConversation, None, fields)
        turn_id = TurnId(self.session.world.new_id())
        conversation_id = ConversationId(self.session.world.new_id())

        async def program(work: Work) -> tuple[Run, int]:
            conversation = await start(work, self.session.caller.owner, conversation_id, new)
            return await accept(work, self.session, Wanted(conversation, tuple(parts), AS_USUAL), turn_id)

        return await self.start(turn_id, program)

    async def start(
        self,
        turn_id: TurnId,
        program: Program[tuple[Run, int]],
        *,
        waits: bool = False,
        promised: bool = False,
        unended: bool = False,
    ) -> Taken:
        """Accept a message, once; its turn goes on by itself. Without a place only if it waits or was `promised`.

        What was asked before is answered with its turn once that has ended, or at once for those who take it `unended`.
        """
        places = self.session.means.places
        if not (waits or promised):
            places.take(turn_id, self.session.caller.owner.org_id)
        try:
            run, first = await self.session.write(program, encode=lambda _: turn_id.encode())
        except Replayed as known:
            places.leave(turn_id)
            return await self._known(TurnId(known.answer.decode()), unended=unended)
        except BaseException:
            places.leave(turn_id)
            raise
        self.session.means.blobs.update((run.journal.org, sha256) for sha256 in run.kept)
        asked_at = run.turn.main.messages[0].created_at
        taken = Taken(turn_id, run.journal.conversation_id, first, asked_at=asked_at)
        if not waits:
            return self._spawn(taken, run)
        await self._send(turn_id, run.journal.epoch)
        return taken

    async def settled(self, taken: Taken) -> Ended:
        """Wait until it has ended."""
        handle = self.session.means.running.get(taken.turn_id)
        if handle is not None:
            await handle.wait()
        ended = taken.ended or await elsewhere(self.session, taken)
        assert ended is not None, "without a limit to its patience it answers when there is an answer"
        return ended

    async def get(self, turn_id: TurnId) -> tuple[TurnRow, Turn]:
        """A turn with everything that is known of it."""

        async def program(work: Work) -> tuple[TurnRow, Turn]:
            row = await self._row(work, turn_id)
            return row, fold(turn_id, await events_of(work, row))

        return await self.session.read(program)

    async def record(self, turn_id: TurnId) -> dict[str, Any]:
        """Everything that is known of a turn, to be read."""
        row, turn = await self.get(turn_id)
        if turn.accepted is None:
            raise NotFound("turn", turn_id)  # it was erased
        ended = turn.ended
        return {
            "turnId": turn_id,
            "conversationId": row.conversation_id,
            "agentId": row.agent_id,
            "status": row.status,
            "pins": turn.accepted.pins,
            "usage": turn.usage,
            "calls": [
                {**msgspec.to_builtins(call), "ended": turn.endings.get(call.call_id)} for call in turn.calls.values()
            ],
            "fallbacks": turn.fell_back,
            "spans": [
                {**msgspec.to_builtins(span), "closed": turn.closed.get(span.span_id)} for span in turn.spans.values()
            ],
            **decided(turn),
            "metrics": measured(turn, self.session.means.models.counter(None).count),
            "code": ended and ended.code,
            "sentence": ended and ended.sentence,
            "outcome": ended and ended.outcome,
            "takeovers": row.takeovers,
        }

    async def cancel(self, conversation_id: ConversationId) -> Taken:
        """Ask the running turn of a conversation to stop, and wait until it has; how the last one ended, if none is."""
        by = self.session.caller.owner.user_id

        async def program(work: Work) -> TurnRow:
            await found(work, self.session.caller, conversation_id, archived=True)
            row = await work.turns.open_in(conversation_id)
            if row is None:  # of a conversation that was put away, only what still goes on can be stopped
                await found(work, self.session.caller, conversation_id)
                row = await work.turns.newest(conversation_id)
            if row is None:
                raise Conflict(phrased("Nothing was said in this conversation yet, so there is nothing to cancel."))
            if row.status is TurnStatus.RUNNING and row.cancel is None:
                await work.turns.request_cancel(row.turn_id, by)
                asked = event("turn.cancel_requested", CancelRequested(by=by), row.turn_id)
                await work.log.append(StreamId(conversation_id), [asked])
            return row

        try:
            row = await self.session.write(program, encode=lambda row: row.turn_id.encode())
        except Replayed as known:
            return await self._known(TurnId(known.answer.decode()))
        taken = Taken(row.turn_id, conversation_id, row.first)
        patience = 0.0 if row.worker == NOBODY else HEEDED
        if not self.stop(row.turn_id) and await elsewhere(self.session, taken, patience) is None:
            taken = self.resume(taken)  # whoever takes it does not listen; from now on it cannot write either
        taken.ended = await self.settled(taken)
        return taken

    def stop(self, turn_id: TurnId) -> bool:
        """Stop it here and now, if it is this process that takes it. The log knows that it was asked to."""
        means = self.session.means
        handle = means.running.get(turn_id)
        if handle is not None:
            means.stopping.add(turn_id)
            handle.stop()
        return handle is not None

    async def take_over(self, *, alone: bool) -> int:
        """Take up turns that no one takes any more: all of other processes where we are alone, else the expired."""
        found = await orphans(self.session, lambda work: work.turns.expired, alone=alone)
        for org, row in found:
            await Turns(self._as_owner(org, row.user_id)).go_on(row)
        return len(found)

    async def carry_out(self, errand: Errand) -> None:
        """Take a turn that waits to its end, unless someone else was before us."""
        acting = Turns(self._as_owner(errand.org_id, errand.user_id))
        turn_id = TurnId(errand.id)
        row = await acting.session.read(lambda work: work.turns.find(turn_id))
        if row is None or row.status is not TurnStatus.RUNNING:
            return
        acting.resume(Taken(turn_id, row.conversation_id, row.first, epoch=errand.epoch))
        handle = self.session.means.running.get(turn_id)
        if handle is not None:
            await handle.wait()

    async def holds(self, worker: str, errand: Errand) -> bool:
        """Whether this worker takes the turn now, and says so."""
        acting = self._as_owner(errand.org_id, errand.user_id)

        async def program(work: Work) -> bool:
            row = await work.turns.find(TurnId(errand.id))
            if row is None or row.status is not TurnStatus.RUNNING:
                return False
            return row.worker == worker and row.lease > work.now

        return await acting.read(program)

    async def keep_alive(self) -> None:
        """Say that this process is there, for as long as it takes turns."""
        means = self.session.means
        if means.running:
            session = self.session.acting_as(SYSTEM)
            await session.write(lambda work: work.turns.extend(means.worker, work.now + means.lease))

    async def heed(self) -> None:
        """Stop what was asked to stop by way of another process."""
        worker = self.session.means.worker
        if not self.session.means.running:
            return
        for _, turn_id in await self.session.acting_as(SYSTEM).read(lambda work: work.turns.to_cancel(worker)):
            self.stop(turn_id)

    def resume(self, taken: Taken) -> Taken:
        """Go on with a turn from the log, unless this process does already."""
        return taken if taken.turn_id in self.session.means.running else self._spawn(taken, None)

    async def go_on(self, row: TurnRow) -> None:
        """Have a turn go on that no one takes any more: here, or where there is room."""
        session, lease = self.session, self.session.means.lease
        if session.means.errands is None:
            self.resume(Taken(row.turn_id, row.conversation_id, row.first))
        elif await session.write(lambda work: work.turns.wait(row, work.now + lease)):
            await self._send(row.turn_id, row.epoch, again=True)

    async def _send(self, turn_id: TurnId, epoch: int, *, again: bool = False) -> None:
        errands, owner = self.session.means.errands, self.session.caller.owner
        assert errands is not None
        await errands.send(Errand(TURN, turn_id, owner.org_id, owner.user_id, epoch), again=again)

    def _spawn(self, taken: Taken, run: Run | None) -> Taken:
        means = self.session.means
        means.places.keep(taken.turn_id, self.session.caller.owner.org_id)
        turns = Turns(self.session.acting_as(self.session.caller))  # an idempotency key is of one request
        beside = Beside(turns.session, turns.start, turns.settled)
        handle = means.runner.spawn(f"turn {taken.turn_id}", carry(self.session, taken, run, beside))
        means.running[taken.turn_id] = handle
        return taken

    async def _known(self, turn_id: TurnId, *, unended: bool = False) -> Taken:
        """The turn of a message that was sent before, once it has ended; or as it is, for those who do not wait."""
        row, turn = await self.get(turn_id)
        if turn.accepted is None:
            raise NotFound("conversation", row.conversation_id)  # it was erased
        if turn.ended is None and not unended:
            raise IdempotencyInProgress
        asked_at = turn.main.messages[0].created_at if turn.main.messages else None
        return Taken(turn_id, row.conversation_id, row.first, turn.ended, replayed=True, asked_at=asked_at)

    async def _row(self, work: Work, turn_id: TurnId) -> TurnRow:
        row = await work.turns.find(turn_id)
        if row is None:
            raise NotFound("turn", turn_id)
        await found(work, self.session.caller, row.conversation_id, archived=True)
        return row

    def _as_owner(self, org: OrgId, user: UserId) -> Session:
        return self.session.acting_as(Caller(Owner(org_id=org, user_id=user), SYSTEM.permissions, "system"))
