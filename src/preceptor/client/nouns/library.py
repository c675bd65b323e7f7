"""Instructions, their versions and labels, and the gates of labels."""

from typing import Any, Literal, Unpack

from preceptor.client.fields.library import (
    FromTemplateFields,
    InstructionQuestionFields,
    NewGateFields,
    NewInstructionFields,
    NewTrialFields,
    RevisionFields,
)
from preceptor.client.operating import Group, Key, Kind, Tag, operation
from preceptor.domain.instructions.bundle import Bundle
from preceptor.domain.instructions.family import Published
from preceptor.domain.instructions.impact import Impact, InstructionQuestion
from preceptor.domain.instructions.instruction import NewInstruction
from preceptor.domain.instructions.planning import Plan
from preceptor.domain.instructions.revision import Revision
from preceptor.domain.instructions.shown import (
    FromTemplate,
    Instruction,
    Label,
    LabelMove,
    NewRating,
    Rating,
    StatusMove,
    Template,
)
from preceptor.domain.instructions.trial import NewTrial, Trial
from preceptor.domain.paging import Page
from preceptor.domain.replays.gate import Gate, GateRun, NewGate
from preceptor.domain.replays.replay import Replay

Status = Literal["draft", "active", "deprecated", "archived"]


class Instructions(Group[Kind]):
    """The library. Each id may be an instruction's or that of one version."""

    @operation("POST /api/instructions", NewInstruction)
    def create(self, *, idempotency_key: Key = None, **fields: Unpack[NewInstructionFields]) -> Instruction:
        """Make an instruction, at version 1.0.0."""
        ...

    @operation("GET /api/instructions")
    def page(
        self,
        *,
        public: bool | None = None,
        type_: Literal["system", "task", "behavior", "template"] | None = None,
        category: str | None = None,
        status: Status | None = None,
        role: str | None = None,
        q: str | None = None,
        tags: list[str] | str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page[Instruction | Published]:
        """List instructions: your own, or with `public` what all organisations publish. `q` looks for words."""
        ...

    @operation("GET /api/instructions/{instruction_id}")
    def get(self, instruction_id: str) -> Instruction | Published:
        """Read an instruction, or one version of it."""
        ...

    @operation("PUT /api/instructions/{instruction_id}", Revision)
    def revise(self, instruction_id: str, *, if_match: Tag = None, **fields: Unpack[RevisionFields]) -> Instruction:
        """Make a new version. What is left out stays."""
        ...

    @operation("DELETE /api/instructions/{instruction_id}")
    def delete(self, instruction_id: str, *, force: bool | None = None, if_match: Tag = None) -> None:
        """Archive an instruction, or one version of it. `force` switches off the assignments that stand in the way."""
        ...

    @operation("GET /api/instructions/{instruction_id}/versions")
    def versions(
        self, instruction_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> Page[Instruction]:
        """List the versions of an instruction, newest first."""
        ...

    @operation("POST /api/instructions/{instruction_id}/restore/{version_id}")
    def restore(
        self, instruction_id: str, version_id: str, *, if_match: Tag = None, idempotency_key: Key = None
    ) -> Instruction:
        """Make a new version that says what an old one said."""
        ...

    @operation("POST /api/instructions/{instruction_id}/status", StatusMove)
    def set_status(
        self, instruction_id: str, status: Status, *, if_match: Tag = None, idempotency_key: Key = None
    ) -> Instruction:
        """Put an instruction into force, or out of it."""
        ...

    @operation("POST /api/instructions/{instruction_id}/ratings", NewRating)
    def rate(self, instruction_id: str, score: int, *, idempotency_key: Key = None) -> Rating:
        """Say what you think of an instruction, from 1 to 5."""
        ...

    @operation("POST /api/instructions/{instruction_id}/copy")
    def copy(self, instruction_id: str, *, idempotency_key: Key = None) -> Instruction:
        """Make an instruction of your own of one that is published."""
        ...

    @operation("POST /api/instructions/{instruction_id}/test", NewTrial)
    def test(self, instruction_id: str, *, idempotency_key: Key = None, **fields: Unpack[NewTrialFields]) -> Trial:
        """Try an instruction: what the prompt would be, and with `mode="run"` what a model answers."""
        ...

    @operation("POST /api/instructions/{instruction_id}/impact", InstructionQuestion)
    def impact(
        self,
        instruction_id: str,
        *,
        cursor: str | None = None,
        limit: int | None = None,
        idempotency_key: Key = None,
        **fields: Unpack[InstructionQuestionFields],
    ) -> Impact:
        """Which agents would be told something else, and what. Nothing is done."""
        ...

    @operation("GET /api/instructions/{instruction_id}/labels")
    def labels(self, instruction_id: str, *, cursor: str | None = None, limit: int | None = None) -> Page[Label]:
        """List the labels of an instruction."""
        ...

    @operation("GET /api/instructions/{instruction_id}/labels/{label}")
    def label(self, instruction_id: str, label: str) -> Label:
        """Read where a label points."""
        ...

    @operation("PUT /api/instructions/{family_id}/labels/{label}", LabelMove)
    def move_label(self, family_id: str, label: str, instruction_id: str, *, if_match: Tag = None) -> Label:
        """Let a label point to a version, which `instruction_id` is."""
        ...

    @operation("DELETE /api/instructions/{instruction_id}/labels/{label}")
    def remove_label(self, instruction_id: str, label: str, *, if_match: Tag = None) -> None:
        """Take a label away."""
        ...

    @operation("GET /api/instructions/templates")
    def templates(
        self,
        *,
        role: str | None = None,
        category: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Page[Template]:
        """List templates, with the gaps that are to be filled in."""
        ...

    @operation("POST /api/instructions/from-template/{template_id}", FromTemplate)
    def from_template(
        self, template_id: str, *, idempotency_key: Key = None, **fields: Unpack[FromTemplateFields]
    ) -> Instruction:
        """Make an instruction of a template."""
        ...

    @operation("GET /api/instructions/export")
    def export(self, *, history: bool | None = None, assignments: bool | None = None) -> Bundle:
        """Read the library as one value: with `history` also old versions, with `assignments` also who follows it."""
        ...

    @operation("POST /api/instructions/import", Bundle)
    def bring_in(
        self,
        given: Bundle | dict[str, Any],
        *,
        dry_run: bool | None = None,
        force: bool | None = None,
        idempotency_key: Key = None,
    ) -> Plan:
        """Bring a library in, or with `dry_run` say what would change."""
        ...


class Gates(Group[Kind]):
    """What a version has to pass before a label may move to it."""

    @operation("PUT /api/instructions/{instruction_id}/labels/{label}/gate", NewGate)
    def put(self, instruction_id: str, label: str, **fields: Unpack[NewGateFields]) -> Gate:
        """Let a label move only to versions that a replay of the newest turns has let through."""
        ...

    @operation("GET /api/instructions/{instruction_id}/labels/{label}/gate")
    def get(self, instruction_id: str, label: str) -> Gate:
        """Read a label's gate, and which versions have passed it."""
        ...

    @operation("DELETE /api/instructions/{instruction_id}/labels/{label}/gate")
    def remove(self, instruction_id: str, label: str) -> None:
        """Let a label move freely again."""
        ...

    @operation("POST /api/instructions/{family_id}/labels/{label}/gate/run", GateRun)
    def run(self, family_id: str, label: str, instruction_id: str, *, idempotency_key: Key = None) -> Replay:
        """Have a version tried at a label's gate: a replay whose verdict decides whether the label may move to it."""
        ...
