"""The editor's form, without a browser: nothing is lost or changed on the way there and back."""

from preceptor.domain.instructions.content import Constraint
from preceptor.domain.instructions.instruction import Authored, InstructionType
from preceptor.surfaces.web.views.editing import blank, draft_from, draft_of, edited, number, said_in

WHOLE = Authored.model_validate(
    {
        "name": "Support",
        "type": "template",
        "tags": ["a", "b"],
        "content": {
            "systemPrompt": "Hello {{who}},\nline two",
            "guidelines": ["One", "Two\nlines"],
            "constraints": ["Plain", {"text": "As an object"}, {"id": "x", "text": "Locked", "locked": True}],
            "suggestions": ["Maybe"],
            "doList": ["Yes"],
            "dontList": ["No"],
            "tone": "friendly",
            "examples": [
                {"input": "Q", "expectedOutput": "A"},
                {"input": "", "expectedOutput": "B", "explanation": "C"},
            ],
            "steps": [{"order": 2, "name": "First"}, {"order": 7, "name": "Second", "optional": True}],
        },
        "variables": [
            {"name": "who", "type": "enum", "options": ["you", "me"], "default": "me", "required": False},
            {"name": "n", "type": "number", "default": 2.5},
            {"name": "b", "type": "boolean", "default": False, "maxLength": 9},
        ],
        "validationRules": {"maxResponseLength": 9, "requiredKeywords": ["x", "y"], "mode": "block"},
    }
)


def test_an_instruction_that_nobody_touched_says_the_same_after_the_form():
    draft = draft_from(draft_of(WHOLE).pairs())
    assert Authored.model_validate(said_in(draft, WHOLE)) == WHOLE
    bare = Authored(name="Bare", type=InstructionType.TASK)
    assert Authored.model_validate(said_in(draft_from(draft_of(bare).pairs()), bare)) == bare


def test_items_are_added_moved_and_removed_by_buttons_alone():
    draft = draft_of(WHOLE)
    for wish in ("add:guidelines", "up:guidelines:2", "down:guidelines:0", "remove:guidelines:1", "up:guidelines:99"):
        draft = edited(draft, wish)
    assert [item.key for item in draft.lists["guidelines"]] == ["2", "0"]
    assert [item.values["text"] for item in draft.lists["guidelines"]] == ["", "One"]
    assert said_in(draft)["content"]["guidelines"] == ["One"]
    assert edited(draft, "add:nonsense") == edited(draft, "") == draft


def test_the_order_of_items_is_the_order_in_which_they_were_sent():
    pairs = [("guidelines.7.text", "first"), ("constraints.1.text", "c"), ("guidelines.2.text", "second")]
    draft = draft_from([*pairs, ("constraints.1.locked", "on"), ("guidelines.2.evil", "no"), ("do", "save")])
    assert said_in(draft)["content"]["guidelines"] == ["first", "second"]
    assert said_in(draft)["content"]["constraints"] == [{"text": "c", "locked": True}]


def test_steps_keep_their_numbers_where_they_still_rise():
    draft = edited(edited(draft_of(WHOLE), "add:steps"), "up:steps:1")
    assert [step["order"] for step in said_in(draft)["content"]["steps"]] == [7, 8]
    assert [step["order"] for step in said_in(draft_of(WHOLE))["content"]["steps"]] == [2, 7]


def test_a_blank_form_has_nothing_in_it():
    said = said_in(blank())
    assert (said["name"], said["validationRules"], said["content"]["systemPrompt"]) == ("", None, None)
    assert isinstance(WHOLE.content.constraints[1], Constraint)


def test_a_number_is_read_with_a_point_and_with_a_comma_but_never_taken_for_another():
    read = {"0.5": 0.5, "0,5": 0.5, " -12,25 ": -12.25, "0,125": 0.125, "7": 7, "": None}
    kept = ("1,500", "12,345", "1,5,0", "1.5,0", ",5", "many")
    assert {text: number(text) for text in read} == read
    assert tuple(map(number, kept)) == kept
