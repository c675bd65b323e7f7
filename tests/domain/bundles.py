"""Bundles made at random."""

from hypothesis import strategies as st

from preceptor.domain.instructions.bundle import Bundle, BundledAssignment, BundledInstruction, BundledVersion
from preceptor.domain.instructions.effective import Customizations
from preceptor.domain.instructions.instruction import InstructionType, Variable
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.version import Exact, Labelled, Latest, SemVer, parse_pin
from tests.domain.instructions import CONTENT, LINES, RULES, VISIBLE_LINE

NAME = st.sampled_from(
    ["Support", "Hỗ trợ", "Поддержка", "../../etc/passwd", "con", "a: b #c", "- x", "no", "1.0", "🙂"]
)
AWKWARD = st.sampled_from(
    ["", "no", "null", "2026-01-01", "1e3", "---\nx", "# x", "a: b", "\u2028", "x\r\ny", " x ", "'\""]
)
NUMBER = st.builds(SemVer, st.integers(1, 3), st.integers(0, 9), st.integers(0, 9))
VARIABLE = st.builds(
    Variable, name=st.sampled_from(["companyName", "x"]), description=AWKWARD, default=st.none() | AWKWARD
)


@st.composite
def versions(draw: st.DrawFn, name: str, number: SemVer | None) -> BundledVersion:
    kind = draw(st.sampled_from(InstructionType))
    variables = [draw(VARIABLE)] if kind is InstructionType.TEMPLATE and draw(st.booleans()) else []
    return BundledVersion(
        name=name,
        description=draw(AWKWARD),
        type=kind,
        category=draw(st.sampled_from(["general", "support", "no"])),
        content=draw(CONTENT),
        variables=tuple(variables),
        validation_rules=draw(RULES),
        tags=tuple(draw(st.lists(st.sampled_from(["a", "true", "1"]), max_size=2))),
        is_public=draw(st.booleans()),
        version=number,
        status=draw(st.sampled_from(Status)),
        changelog=draw(st.none() | AWKWARD),
    )


@st.composite
def instructions(draw: st.DrawFn, family_id: str | None) -> BundledInstruction:
    numbers = sorted(draw(st.sets(NUMBER, min_size=1, max_size=2)))
    name = draw(NAME | VISIBLE_LINE.map(lambda text: text[:200]))
    labels = draw(st.dictionaries(st.sampled_from(["production", "staging"]), st.sampled_from(numbers), max_size=2))
    return BundledInstruction(
        family_id=family_id,
        versions=tuple(draw(versions(name, number)) for number in numbers),
        labels=labels,
    )


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    count = draw(st.integers(0, 2))
    pins = st.sampled_from([Latest(), Exact(), Labelled("production"), parse_pin("^1.2")])
    given = st.builds(
        BundledAssignment,
        agentId=st.sampled_from(["assistant", "support"]),
        instruction=st.sampled_from(["family-0", "Support"]),
        pin=pins,
        version=st.none() | NUMBER,
        priority=st.integers(-5, 500),
        isActive=st.booleans(),
        customizations=st.builds(Customizations, additionalGuidelines=LINES),
    )
    return Bundle(
        instructions=tuple(draw(instructions(f"family-{number}")) for number in range(count)),
        assignments=tuple(draw(st.lists(given, max_size=2))),
    )
