"""Replaying one turn: put its calls together again, ask again if that is wanted, and compare. Writes nothing, runs no
tool.
"""

from contextlib import aclosing
from typing import Any

import msgspec

from preceptor.domain.errors import DiskFull, PreceptorError, Unavailable, recorded
from preceptor.domain.ids import ConversationId, MessageId, TurnId
from preceptor.domain.instructions.check import RuleCheck, check
from preceptor.domain.messages.message import AnyPart, Message, texts
from preceptor.domain.prompts.placed import as_shown
from preceptor.domain.prompts.prompt import Prompt, Request
from preceptor.domain.prompts.reply import Fault, ModelFailure, Reply, Usage
from preceptor.domain.reasoning.plan import Action
from preceptor.domain.reasoning.policy import GuardPolicy, Switch
from preceptor.domain.replays.comparing import Digest, answer_diff, context_diff, divergence, in_its_place, said
from preceptor.domain.replays.replay import CallItem, Changed, Fates, Item, Mode, Overrides, Replies
from preceptor.domain.turns.decisions import Fate, Rules, fate, fate_under
from preceptor.domain.turns.turn import Turn
from preceptor.domain.value import told
from preceptor.engine.contexts import Format
from preceptor.engine.means.guarding import GuardClient
from preceptor.engine.ports import ChatModel
from preceptor.engine.replaying.originals import ANSWERS, Original, Step, original_of
from preceptor.engine.replaying.retelling import Changes, sgr_of, sgr_then
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session
from preceptor.engine.turn.stages.listen import BROKE_OFF, priced
from preceptor.engine.turn.stages.moderate import heard

PAUSES = (0.5, 2.0)
UNANSWERED = recorded("It would not have been answered: the tables lead it elsewhere.")
WITHHELD = recorded("The safety check withholds its question: nothing was put to the model.")
UNPLANNED = recorded("It was not planned then, and no plan is made now: what planning would change is not known.")
WITHHELD_BEFORE = recorded("The safety check withholds what was said before it: nothing was put to the model.")
NEVER_ANSWERED = recorded("It was never answered then, so there is nothing to compare an answer with.")


class Replaying(msgspec.Struct, frozen=True):
    session: Session
    changes: Changes
    mode: Mode
    replies: Replies
    formats: dict[str, Format]

    async def item(self, turn_id: TurnId) -> tuple[Item, Digest]:
        """What becomes of a turn. Whatever goes wrong is in the item."""
        began = self.session.world.monotonic()

        async def program(work: Work) -> Original:
            return await original_of(work, self.session, turn_id, self.changes)

        try:
            original = await self.session.read(program)
        except (Unavailable, DiskFull):
            raise
        except PreceptorError as error:
            return _failed(turn_id, "", "", error)
        going = Going(self, original)
        try:
            await going.through()
        except (Unavailable, DiskFull):
            raise  # it is gone through again when the storage is back
        except PreceptorError as error:
            return _failed(turn_id, original.row.conversation_id, original.row.agent_id, error, going.usage)
        item = going.item()
        spent = round((self.session.world.monotonic() - began) * 1000)
        return item.model_copy(update={"milliseconds": spent}), going.digest(item)


class Going(msgspec.Struct):
    """How far it has come."""

    replaying: Replaying
    original: Original
    calls: list[CallItem] = []
    instead: dict[MessageId, Message] = {}
    usage: Usage = msgspec.field(default_factory=Usage)
    diverged: str | None = None
    answer: str | None = None
    fates: Fates | None = None

    async def through(self) -> None:
        original, live = self.original, self.replaying.replies is Replies.LIVE
        self.fates = changed_fate(original.turn, self.replaying.changes.overrides)
        answered = self.fates is None or self.fates.after in (Action.NORMAL, "unknown")
        if not answered:
            original.notes.append(UNANSWERED)
        if self.fates is not None and all(step.purpose == "plan" for step in original.steps):
            original.notes.append(NEVER_ANSWERED)
        if answered and original.steps and _plans_anew(original.turn, self.replaying.changes.overrides):
            original.notes.append(UNPLANNED)
        live = live and answered and bool(original.steps)
        withheld = await self._withheld() if live else None
        if withheld is not None:
            original.notes.append(withheld)
            live = False
        for step in original.steps:
            await self._step(step, live=live)
            if self.diverged is not None:
                return

    async def _withheld(self) -> str | None:
        """Why nothing of it may be put to a model, if so: by the verdict on its record, else by those of now."""
        means, turn = self.replaying.session.means, self.original.turn
        if means.guardian is None or not means.guard.enabled:
            return None
        pinned = turn.pins.guard
        client = GuardClient(means.guardian, GuardPolicy.model_validate(pinned) if pinned else means.guard)
        question = turn.main.messages[0]
        if client.should_block(turn.verdict or await client.classify(heard(question.parts))):
            return WITHHELD
        before = "" if turn.verdict else self._brought(question)
        return WITHHELD_BEFORE if before and client.should_block(await client.classify(before)) else None

    def _brought(self, question: Message) -> str:
        """All else that its models would be shown of what clients brought along: no one here may have judged it."""
        shown = {each.message.id: each for step in self.original.steps for each in step.after.said}
        brought = (one for one in shown.values() if one.message.from_client and one.message.id != question.id)
        return "\n\n".join(heard(as_shown(one).message.parts) for one in brought)

    async def _step(self, step: Step, *, live: bool) -> None:
        trajectory = self.replaying.mode is Mode.TRAJECTORY
        before, after = step.before.prompt(), step.after.prompt(self.instead if trajectory else None)
        same, request = self._requests(step, before, after)
        reply = await self._reply(step, request) if live else None
        then = step.recorded if step.reply is None else said(step.reply.parts)
        now = None if reply is None else said(reply.parts)
        self.calls.append(
            CallItem(
                call_id=step.call and step.call.call_id,
                purpose=step.purpose,
                model=step.ask.model,
                same_request=same,
                context_diff=context_diff(before, after),
                before=then,
                after=now,
                tokens_before=before.tokens,
                tokens_after=after.tokens,
            )
        )
        if reply is None or step.reply is None or step.purpose not in ANSWERS:
            return
        if step.main:
            self.answer = texts(reply.parts)
        if trajectory:
            self._go_on(step.reply, reply.parts, len(self.calls))

    def _go_on(self, then: Message, now: tuple[AnyPart, ...], number: int) -> None:
        if (why := divergence(then.parts, now)) is not None:
            self.diverged = recorded(
                "Call %(number)s: %(why)s What came after it then says nothing about what would come now.",
                number=number,
                why=why,
            )
            return
        self.instead[then.id] = in_its_place(then, now)

    def _requests(self, step: Step, before: Prompt, after: Prompt) -> tuple[bool, Request]:
        """Whether the request has the very bytes of then; and the request as it would be sent."""
        formats, overrides = self.replaying.formats, self.replaying.changes.overrides
        if step.call is None:
            then = step.model.render(before, step.ask_before)
            now = step.model.render(after, step.ask)
            return then.sha256 == now.sha256, now
        if overrides.model is not None:
            now = step.model.render(after, step.ask)
            return now.sha256 == step.call.sha256, now
        now = formats[step.call.format](after, step.ask)
        same = now.sha256 == step.call.sha256
        return same, step.model.render(after, step.ask) if self.replaying.replies is Replies.LIVE else now

    async def _reply(self, step: Step, request: Request) -> Reply:
        """Ask. What may pass is tried again, a little later."""
        means = self.replaying.session.means
        for pause in (*PAUSES, None):
            try:
                reply = await _heard(step.model, request, means.limits.seconds)
            except ModelFailure as failure:
                if pause is None or not failure.retryable:
                    raise
                await means.runner.pause(pause)
            else:
                self.usage += priced(reply.usage, step.model.capabilities)
                return reply
        raise AssertionError

    @property
    def recorded_answer(self) -> str:
        ended = self.original.turn.ended
        return "" if ended is None or ended.message is None else ended.message.text

    def item(self) -> Item:
        original, then = self.original, self.recorded_answer
        answered = self.answer is not None and self.diverged is None
        now = self.answer if answered and self.answer is not None else then
        return Item(
            turn_id=original.turn.turn_id,
            conversation_id=original.row.conversation_id,
            agent_id=original.row.agent_id,
            status="diverged" if self.diverged is not None else "done",
            same=self._same(then, now),
            answer=now,
            answer_diff=answer_diff(then, now),
            context_diff=self._context_diff(),
            fate=self.fates,
            rules=self._rules(now),
            calls=tuple(self.calls),
            diverged=self.diverged,
            notes=tuple(original.notes),
            tokens=self.usage.input_tokens + self.usage.output_tokens,
            cost=self.usage.cost,
        )

    def _same(self, then: str, now: str) -> bool:
        if self.fates is not None or self.diverged is not None:
            return False
        return then == now if self.answer is not None else all(call.same_request for call in self.calls)

    def _context_diff(self) -> tuple[Changed, ...]:
        """Each difference once, however many calls show it."""
        found: dict[Any, Changed] = {}
        for call in self.calls:
            for one in call.context_diff:
                found.setdefault((one.side, one.role, one.text), one)
        return tuple(found.values())

    def _rules(self, answer: str) -> tuple[RuleCheck, ...]:
        rules = self.original.rules
        return () if rules is None or not answer else check(answer, rules)

    def digest(self, item: Item) -> Digest:
        then, now = self.recorded_answer, item.answer or ""
        broken_before = any(not one.passed for one in self._rules(then))
        return Digest(
            conversation=item.conversation_id,
            same=item.same,
            diverged=self.diverged is not None,
            answered=self.answer is not None,
            broken_before=broken_before,
            broken=any(not one.passed for one in item.rules),
            ruled=self.original.rules is not None and bool(then),
            prompt_before=sum(call.tokens_before for call in self.calls),
            prompt=sum(call.tokens_after for call in self.calls),
            length_before=len(then),
            length=len(now),
            cost_before=self.original.turn.usage.cost,
            cost=self.usage.cost,
            tokens=item.tokens,
        )


async def _heard(model: ChatModel, request: Request, seconds: float) -> Reply:
    async with aclosing(model.send(request, seconds)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Reply):
                return piece
    raise ModelFailure(Fault.BROKEN_STREAM, BROKE_OFF)


def _plans_anew(turn: Turn, overrides: Overrides) -> bool:
    """Whether a turn that was taken without planning is now to be taken with it."""
    return overrides.sgr is not None and overrides.sgr.enabled is Switch.ON and not turn.pins.sgr


def changed_fate(turn: Turn, overrides: Overrides) -> Fates | None:
    """Where the tables led a turn and would lead it under other policies, by the plan and the verdict on its record."""
    guard, sgr = overrides.guard, sgr_of(turn, overrides)
    before = fate(turn)
    if before is None or (guard is None and sgr is None):
        return None
    wanted = {} if guard is None else told(guard)
    rules = Rules(
        guarded=wanted.get("enabled", True),
        planned=sgr is None or sgr.enabled is not Switch.OFF,
        routing=None if sgr is None else sgr.routing,
        mode=wanted.get("mode"),
        on_error=wanted.get("on_error"),
    )
    after = fate_under(turn, rules, sgr_then(turn).routing)
    if after is None or before.action is after.action:
        return None
    return Fates(before=_word(before), after=_word(after))


def _word(one: Fate) -> str:
    return "unknown" if one.action is None else one.action.value


def _failed(
    turn_id: TurnId, conversation_id: str, agent_id: str, error: PreceptorError, usage: Usage | None = None
) -> tuple[Item, Digest]:
    spent = usage or Usage()
    item = Item(
        turn_id=turn_id,
        conversation_id=ConversationId(conversation_id),
        agent_id=agent_id,
        status="failed",
        same=False,
        code=error.code,
        sentence=str(error),
        tokens=spent.input_tokens + spent.output_tokens,
        cost=spent.cost,
    )
    return item, Digest(conversation=conversation_id, failed=True, tokens=item.tokens, cost=spent.cost)
