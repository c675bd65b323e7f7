"""Plan-to-answer scores. The expected ones were made with sacrebleu 2.6.0 (chrF2) and by hand (ROUGE-L)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from preceptor.domain.reasoning.metrics import apologises, apology_loop, chrf, consistency, longest_common, rouge_l
from preceptor.domain.reasoning.plan import Plan
from tests.requirements import covers

TEXT = st.text(st.sampled_from("ab cд "), max_size=30)
WORDS = st.lists(st.sampled_from("abcd"), max_size=12)


def slow_common(first: list[str], second: list[str]) -> int:
    rows = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            rows[i + 1][j + 1] = rows[i][j] + 1 if one == other else max(rows[i][j + 1], rows[i + 1][j])
    return rows[-1][-1]


@given(WORDS, WORDS)
def test_the_longest_common_subsequence_is_as_long_as_the_textbook_says(first: list[str], second: list[str]):
    assert longest_common(first, second) == slow_common(first, second)


@given(TEXT, TEXT)
def test_scores_lie_between_0_and_1_and_the_same_text_scores_1(first: str, second: str):
    for score in (chrf, rouge_l):
        assert 0 <= score(first, second) <= 1
        assert not first.strip() or score(first, first) == pytest.approx(1)


CHRF = {
    ("the cat sat on the mat", "the cat lay on the mat"): 0.6108866623572505,
    ("Reset the password", "Reset the password of the shared mailbox"): 0.48214864897742266,
    ("Сбросьте пароль почтового ящика", "Сбросить пароль общего ящика"): 0.47332074821916126,
    ("Mở trang quản trị", "Mở trang quản trị và đặt lại mật khẩu"): 0.4869514853064297,
    ("ok", "ok then"): 0.3125,
    ("👍🏽 done", "done 👍🏽"): 0.4388888888888889,
    ("abc", "xyz"): 0.0,
}


@covers("R199")
@pytest.mark.parametrize(("answer", "plan"), CHRF)
def test_chrf_is_what_the_reference_implementation_says(answer: str, plan: str):
    assert chrf(answer, plan) == pytest.approx(CHRF[answer, plan], abs=1e-12)


ROUGE = {
    ("the cat sat on the mat", "the cat lay on the mat"): 10 / 12,
    ("reset the password", "password reset"): 2 / 5,
    ("Сбросьте пароль", "сбросьте пароль"): 1.0,
    ("", "x"): 0.0,
}


@pytest.mark.parametrize(("answer", "plan"), ROUGE)
def test_rouge_l_by_hand(answer: str, plan: str):
    assert rouge_l(answer, plan) == pytest.approx(ROUGE[answer, plan])


def test_an_answer_that_follows_its_plan_scores_higher_than_one_that_does_not():
    plan = Plan(
        spam_score=0,
        intent_confidence=1,
        user_intent="Reset the password of the shared mailbox",
        subqueries=("reset shared mailbox password",),
        action_plan=("Open the admin page", "Reset the password of the shared mailbox"),
    )
    follows = consistency(plan, "Open the admin page, choose the shared mailbox and reset its password there.")
    wanders = consistency(plan, "Our office is closed on Sundays; have a nice day!")
    assert follows.chrf > wanders.chrf
    assert follows.rouge_l > wanders.rouge_l


SORRY = ["I'm sorry about that.", "Прошу прощения за ошибку.", "Xin lỗi vì sự bất tiện.", "I apologise for the delay."]


@pytest.mark.parametrize("answer", SORRY)
def test_an_apology_is_recognised_in_three_languages(answer: str):
    assert apologises(answer)


@pytest.mark.parametrize(
    ("answers", "stuck"),
    [
        ([], False),
        (["Hello"], False),
        (SORRY[:2], False),
        (SORRY[:3], True),
        ([*SORRY[:3], "Here it is."], False),
        (["x", *SORRY[:3]], True),
        (["I'm sorry. I am sorry! My apologies."], True),
        (["A sorry sight, and no excuse."], False),
    ],
)
def test_three_apologies_in_a_row_are_a_loop(answers: list[str], stuck: bool):
    assert apology_loop(answers) is stuck
