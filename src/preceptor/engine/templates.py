"""Templates: those of the organisation and those that come with the software; and filling them in."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from preceptor.domain.errors import NotFound
from preceptor.domain.instructions.instruction import Authored, InstructionType, InstructionVersion, authored
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.shipped import SHIPPED, Shipped
from preceptor.domain.instructions.shown import FromTemplate, Instruction, Template
from preceptor.domain.instructions.template import fill
from preceptor.domain.paging import Page, page_of, position_of
from preceptor.domain.value import made
from preceptor.engine.instructions import Composition, Instructions, Wanted
from preceptor.engine.library.shelf import found
from preceptor.engine.repositories.work import Work
from preceptor.engine.session import Session


class Templates(msgspec.Struct, frozen=True):
    session: Session

    async def page(self, wanted: Wanted, cursor: str | None = None, limit: int = 50) -> Page[Template]:
        """Those that come with the software first, then the organisation's own that are active, newest first."""
        position = position_of(cursor)
        at_shipped = position is None or position in SHIPPED
        shipped = [_built_in(one) for one in _shipped(wanted) if at_shipped and one.template_id > (position or "")]
        own = replace(wanted, type=InstructionType.TEMPLATE, status=Status.ACTIVE)

        async def program(work: Work) -> Page[Template]:
            missing = limit + 1 - len(shipped)
            rows = [] if missing <= 0 else await work.instructions.page(own, None if at_shipped else position, missing)
            templates = [*shipped, *(_own(version) for _, version, _ in rows)]
            return page_of(templates, limit, lambda template: template.family_id or template.template_id)

        return await self.session.read(program)

    async def get(self, template_id: str) -> Template:
        async def program(work: Work) -> Template:
            return await _found(work, template_id)

        return await self.session.read(program)

    async def instruct(self, template_id: str, given: FromTemplate | None = None, **fields: Any) -> Instruction:
        """Make an instruction of a template whose gaps are filled in. It remembers what it was made from."""
        wish = made(FromTemplate, given, fields)

        async def compose(work: Work) -> Composition:
            template = await _found(work, template_id)
            made_from = f"{template.template_id}@{template.version}"
            return filled(template, wish), {"status": wish.status, "created_from_template": made_from}

        return await Instructions(self.session).begin(compose)


async def _found(work: Work, template_id: str) -> Template:
    if shipped := SHIPPED.get(template_id):
        return _built_in(shipped)
    try:
        version = (await found(work, template_id)).meant
    except NotFound:
        raise NotFound("template", template_id) from None
    if version.type is not InstructionType.TEMPLATE:
        raise NotFound("template", template_id)
    return _own(version)


def filled(template: Template, wish: FromTemplate) -> Authored:
    said = authored(template).model_copy(
        update={
            "name": wish.name or template.name,
            "type": wish.type,
            "content": fill(template.content, template.variables, wish.customizations),
            "variables": (),
            "is_public": False,
        }
    )
    return Authored.model_validate(dict(said))


def _shipped(wanted: Wanted) -> Iterator[Shipped]:
    for template_id in sorted(SHIPPED):
        template = SHIPPED[template_id]
        if wanted.category in (None, template.category) and wanted.target_role in (None, template.target_role):
            yield template


def _built_in(shipped: Shipped) -> Template:
    return Template(
        **dict(authored(shipped)),
        template_id=shipped.template_id,
        family_id=None,
        instruction_id=None,
        version=shipped.version,
        is_built_in=True,
    )


def _own(version: InstructionVersion) -> Template:
    return Template(
        **dict(authored(version)),
        template_id=version.instruction_id,
        family_id=version.family_id,
        instruction_id=version.instruction_id,
        version=version.version,
        is_built_in=False,
    )
