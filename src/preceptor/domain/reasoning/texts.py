"""What users are told about plans and refusals. `get_text` is the only way to these sentences."""

# ruff: noqa: RUF001 - these letters are meant

from preceptor.domain.phrases import Catalogue

KEYS: dict[str, tuple[str, ...]] = {
    "user_intent_prefix": (),
    "sgr_normal_response": ("user_intent", "product_name"),
    "sgr_clarify_intro": ("user_intent", "product_name"),
    "sgr_clarify_question": ("product_name",),
    "sgr_clarify_outro": ("product_name",),
    "sgr_spam_response": ("product_name",),
    "sgr_guardian_response": ("product_name",),
    "guardian_refusal_unsafe": ("product_name",),
}
"""Each text, and what may be filled in."""

TEXTS = Catalogue(
    {
        "en": {
            "user_intent_prefix": "How I understood your request:",
            "sgr_normal_response": "I am working on it.",
            "sgr_clarify_intro": "Before I answer, I want to be sure that I understand you correctly.",
            "sgr_clarify_question": "Could you tell me in more detail what you need?",
            "sgr_clarify_outro": "With your answer I can help you properly.",
            "sgr_spam_response": (
                "I cannot help with this here: it does not seem to be about what {{product_name}} is for. "
                "If I am mistaken, please say it in other words."
            ),
            "sgr_guardian_response": (
                "I cannot help with this request, because it goes against the safety rules. "
                "You are welcome to ask something else."
            ),
            "guardian_refusal_unsafe": (
                "This message was stopped by the safety check and was not answered. You are welcome to ask "
                "something else."
            ),
        },
        "ru": {
            "user_intent_prefix": "Как я понял ваш запрос:",
            "sgr_normal_response": "Уже занимаюсь этим.",
            "sgr_clarify_intro": "Прежде чем ответить, хочу убедиться, что понимаю вас правильно.",
            "sgr_clarify_question": "Расскажите, пожалуйста, подробнее: что вам нужно?",
            "sgr_clarify_outro": "С вашим ответом я смогу помочь точнее.",
            "sgr_spam_response": (
                "С этим я здесь помочь не могу: похоже, вопрос не относится к тому, для чего нужен {{product_name}}. "
                "Если я ошибаюсь, сформулируйте его, пожалуйста, иначе."
            ),
            "sgr_guardian_response": (
                "Я не могу помочь с этим запросом: он противоречит правилам безопасности. "
                "Вы можете спросить о чём-нибудь другом."
            ),
            "guardian_refusal_unsafe": (
                "Проверка безопасности остановила это сообщение, ответа на него не будет. "
                "Вы можете спросить о чём-нибудь другом."
            ),
        },
        "vi": {
            "user_intent_prefix": "Tôi hiểu yêu cầu của bạn như sau:",
            "sgr_normal_response": "Tôi đang xử lý yêu cầu này.",
            "sgr_clarify_intro": "Trước khi trả lời, tôi muốn chắc chắn rằng mình hiểu đúng ý bạn.",
            "sgr_clarify_question": "Bạn có thể nói rõ hơn là bạn cần gì không?",
            "sgr_clarify_outro": "Khi có câu trả lời của bạn, tôi sẽ hỗ trợ chính xác hơn.",
            "sgr_spam_response": (
                "Tôi không thể hỗ trợ việc này ở đây: có vẻ nó không thuộc phạm vi của {{product_name}}. "
                "Nếu tôi nhầm, xin bạn diễn đạt lại theo cách khác."
            ),
            "sgr_guardian_response": (
                "Tôi không thể giúp với yêu cầu này vì nó trái với quy tắc an toàn. Bạn có thể hỏi điều khác."
            ),
            "guardian_refusal_unsafe": (
                "Tin nhắn này đã bị bộ kiểm tra an toàn chặn lại và sẽ không được trả lời. Bạn có thể hỏi điều khác."
            ),
        },
    },
    KEYS,
)


def get_text(
    key: str, language: str = "en", *, product_name: str = "Preceptor", user_intent: str = "", **params: str
) -> str:
    return TEXTS.say(language, key, product_name=product_name, user_intent=user_intent, **params)
