"""Instructions for the tests: made by hand, made at random, and those that the library was asked for."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from preceptor.domain.ids import AssignmentId, FamilyId, InstructionId, OrgId, UserId
from preceptor.domain.instructions.content import Constraint, Content, Example, Step, ValidationRules
from preceptor.domain.instructions.effective import Assignment, Customizations, Override
from preceptor.domain.instructions.instruction import InstructionType, InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.version import SemVer
from preceptor.domain.ownership import Owner

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OWNER = Owner(org_id=OrgId("acme"), user_id=UserId("ann"))


def version(type_: str = "system", content: Any = None, **fields: Any) -> InstructionVersion:
    given = {
        "family_id": FamilyId("family"),
        "instruction_id": InstructionId("instruction"),
        "name": "Support",
        "version": SemVer(1, 0, 0),
        "status": Status.ACTIVE,
        "owner": OWNER,
        "created_by": OWNER.user_id,
        "updated_by": OWNER.user_id,
        "created_at": NOON,
        "updated_at": NOON,
    }
    return InstructionVersion.model_validate(given | {"type": type_, "content": content or {}} | fields)


def assigned(name: str, said: InstructionVersion, **fields: Any) -> Assignment:
    own = said.model_copy(update={"instruction_id": InstructionId(f"instruction-{name}")})
    given = {"assignment_id": AssignmentId(name), "version": own, "applied_at": NOON}
    return Assignment.model_validate(given | fields)


def speaking(name: str, type_: str = "system", content: Any = None, **fields: Any) -> Assignment:
    return assigned(name, version(type_, content), **fields)


# Few words in many spellings, so that lines often say the same.
WORDS = ["Be kind", "be kind ", "BE KIND", "Xin chào", "Xin cha\u0300o", "✅ ok", "two\nlines", "## Constraints", "x"]
LINE = st.sampled_from(WORDS) | st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1)
VISIBLE_LINE = LINE.filter(lambda text: bool(text.strip("\ufeff")))
LINES = st.lists(VISIBLE_LINE, max_size=3).map(tuple)
WORD = st.none() | st.sampled_from(["professional", "casual", "thân thiện"])
CONSTRAINTS = st.lists(
    VISIBLE_LINE
    | st.builds(Constraint, text=VISIBLE_LINE, locked=st.booleans())
    | st.builds(Constraint, id=st.sampled_from(["c1", "c2"]), text=VISIBLE_LINE),
    max_size=4,
).map(tuple)
CONTENT = st.builds(
    Content,
    system_prompt=st.none() | VISIBLE_LINE,
    guidelines=LINES,
    constraints=CONSTRAINTS,
    suggestions=LINES,
    tone=WORD,
    language=st.none() | st.sampled_from(["vi", "en"]),
    formality=st.none() | st.sampled_from(["formal", "informal"]),
    do_list=LINES,
    dont_list=LINES,
    examples=st.lists(st.builds(Example, input=LINE, expectedOutput=LINE), max_size=2).map(tuple),
    steps=st.lists(
        st.builds(Step, order=st.integers(0, 5), name=VISIBLE_LINE, description=LINE, optional=st.booleans()),
        max_size=3,
    ).map(tuple),
)
RULES = st.none() | st.builds(
    ValidationRules,
    max_response_length=st.none() | st.integers(1, 500),
    required_keywords=LINES,
    prohibited_keywords=LINES,
)


@st.composite
def assignments(draw: st.DrawFn) -> list[Assignment]:
    made: list[Assignment] = []
    for number in range(draw(st.integers(0, 5))):
        content = draw(CONTENT)
        texts = [item if isinstance(item, str) else item.text for item in content.constraints]
        disabled = draw(st.lists(st.sampled_from([*texts, "c1", "nothing"]), max_size=3))
        said = version(
            draw(st.sampled_from(InstructionType)),
            content,
            status=draw(st.sampled_from([Status.ACTIVE, Status.ACTIVE, *Status])),
            validation_rules=draw(RULES),
        )
        custom = Customizations(additional_guidelines=draw(LINES), disabled_constraints=tuple(disabled))
        covered = tuple(draw(st.lists(st.sampled_from([*texts, "nothing"]), max_size=2)))
        made.append(
            assigned(
                f"a{number}",
                said,
                priority=draw(st.integers(0, 2)),
                applied_at=NOON + timedelta(seconds=draw(st.integers(0, 1))),
                is_active=draw(st.booleans()) or draw(st.booleans()),
                customizations=custom,
                override=draw(st.sampled_from([None, Override(constraints=covered, by=OWNER.user_id, reason="why")])),
            )
        )
    return made


SUPPORT = {
    "systemPrompt": "Bạn là nhân viên hỗ trợ khách hàng của ACME.",
    "guidelines": ["Chào khách bằng tên", "Giải thích từng bước"],
    "constraints": [
        "Không hứa hoàn tiền",
        {"id": "privacy", "text": "Không bao giờ chia sẻ mật khẩu", "locked": True},
    ],
    "tone": "professional",
    "language": "vi",
    "doList": ["Xin lỗi vì sự bất tiện"],
    "dontList": ["Đổ lỗi cho bộ phận khác"],
    "examples": [{"input": "Đơn hàng chưa đến!", "expectedOutput": "Em xin lỗi anh/chị vì sự chậm trễ."}],
}
POLITE = {
    "tone": "friendly",
    "formality": "formal",
    "doList": ["Xưng 'em', gọi 'anh/chị'", "xin lỗi vì sự bất tiện"],
    "dontList": ["Dùng đại từ suồng sã"],
}
REVIEW = {
    "steps": [
        {"order": 1, "name": "Quality", "description": "Style and naming", "optional": False},
        {"order": 2, "name": "Security", "description": "Injection, secrets", "optional": False},
        {"order": 3, "name": "Tests", "description": "Edge cases are covered", "optional": False},
        {"order": 4, "name": "Speed", "description": "No query in a loop", "optional": True},
        {"order": 5, "name": "Documents", "description": "Hard parts are explained", "optional": True},
    ],
    "validationRules": {
        "requiredKeywords": ["✅", "❌", "⚠️"],
        "prohibitedKeywords": ["LGTM without review"],
    },
}
BILINGUAL = {
    "language": "multilingual",
    "guidelines": [
        "Notice the language of the first message",
        "Answer in the same language",
        "If unsure, speak Vietnamese to Vietnamese names",
        "Switch when the customer switches",
    ],
    "examples": [
        {"input": "Hello, I need help", "expectedOutput": "Hello! What can I do for you?", "explanation": "English"},
        {"input": "Xin chào, em cần hỗ trợ", "expectedOutput": "Xin chào! Em giúp gì được ạ?"},
    ],
}
