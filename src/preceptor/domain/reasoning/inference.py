"""Topic and category of a request, where the model named none."""

# ruff: noqa: RUF001 - these letters are meant

from preceptor.domain.shortening import shortened

TOPIC_WORDS = 5
LONGEST_TOPIC = 80
GENERAL = "general"

_AROUND_WORDS = ".,;:!?…()[]{}<>«»„“”\"'`*_/\\|—–-"
_ENGLISH = (
    "a an the and or but if of to in on at for with from by as is are was were be been am do does did have has had i "
    "me my we our you your he she it its they them their this that these those there here not no so very can could "
    "would should will may might must want wants wanted need needs needed like please user users how what why when "
    "where which who about into than then also just some any get gets"
)
_RUSSIAN = (
    "и а но или если в во на с со к ко у о об от до из за по для при не ни я мне мой мы нам наш ты вы вам ваш он она "
    "оно они их это этот эта эти тот та те там тут что чтобы как какой какая какие где когда почему зачем кто ли бы же "
    "был была было были быть есть хочет хотел хотела нужно надо можно пользователь пользователю так"
)
_VIETNAMESE = (
    "và hoặc nhưng nếu của ở trong trên tại cho với từ bởi là có không được bị tôi mình chúng ta bạn anh chị em họ nó "
    "này kia đó đây thì mà cũng rất sẽ đã đang muốn cần hãy xin người dùng làm sao thế nào gì vì khi một các những"
)
_NO_CONTENT = frozenset((*_ENGLISH.split(), *_RUSSIAN.split(), *_VIETNAMESE.split()))
_CATEGORIES = {
    "problem": (
        "error, errors, fail, fails, failed, broken, crash, crashes, bug, bugs, issue, problem, problems, wrong, "
        "ошибка, ошибки, ошибку, ошибкой, сбой, сломалось, сломано, проблема, проблемы, проблему, падает, "
        "lỗi, hỏng, sự cố, vấn đề, trục trặc"
    ),
    "how_to": (
        "configure, configuring, install, installing, setup, set up, create, creating, build, enable, disable, "
        "настроить, настройка, настройки, установить, создать, включить, отключить, "
        "cài đặt, cấu hình, thiết lập, bật, tắt"
    ),
    "request": (
        "order, cancel, refund, buy, delivery, заказ, заказать, отменить, возврат, купить, доставка, "
        "đặt hàng, hủy, mua, giao hàng, hoàn tiền"
    ),
    "feedback": "thanks, thank, complaint, suggestion, спасибо, жалоба, предложение, cảm ơn, góp ý, khiếu nại",
    "question": (
        "explain, difference, meaning, compare, объяснить, разница, значит, сравнить, giải thích, khác nhau, so sánh"
    ),
}
_CATEGORY_OF = {words: category for category, listed in _CATEGORIES.items() for words in listed.split(", ")}
"""By one word, or by two."""


_TELLING = frozenset(word for words in _CATEGORY_OF for word in words.split())


def infer_topic(user_intent: str) -> str:
    """The first words of the intent that carry meaning."""
    found: list[str] = []
    for word in user_intent.split():
        bare = word.strip(_AROUND_WORDS)
        if bare and bare.casefold() not in _NO_CONTENT:
            found.append(bare)
            if len(found) == TOPIC_WORDS:
                break
    return shortened(" ".join(found), LONGEST_TOPIC)


def infer_category(user_intent: str) -> str:
    words = [word.strip(_AROUND_WORDS) for word in user_intent.casefold().split()]
    if _TELLING.isdisjoint(words):
        return GENERAL
    before = ""
    for word in words:
        if category := _CATEGORY_OF.get(word) or _CATEGORY_OF.get(f"{before} {word}"):
            return category
        before = word
    return GENERAL
