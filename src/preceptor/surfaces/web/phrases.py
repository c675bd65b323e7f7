"""The sentences of the web pages."""

from preceptor.domain.phrases import Catalogue

PHRASES = Catalogue(
    {
        "en": {
            "signed_in": "You are signed in as {{user}} of {{org}}.",
            "sign_in": (
                "You are not signed in. Run `preceptor link` on the server and open what it prints; it works once."
            ),
            "version": "Version {{version}}.",
        },
        "ru": {
            "signed_in": "Вы вошли как {{user}}, организация {{org}}.",
            "sign_in": "Вы не вошли. Выполните на сервере `preceptor link` и откройте ссылку: она действует один раз.",
            "version": "Версия {{version}}.",
        },
        "vi": {
            "signed_in": "Bạn đã đăng nhập với tên {{user}}, tổ chức {{org}}.",
            "sign_in": (
                "Bạn chưa đăng nhập. Hãy chạy `preceptor link` trên máy chủ và mở liên kết đó; nó chỉ dùng một lần."
            ),
            "version": "Phiên bản {{version}}.",
        },
    },
    {"signed_in": ("user", "org"), "sign_in": (), "version": ("version",)},
)


def phrase(language: str, key: str, **blanks: str) -> str:
    return PHRASES.say(language, key, **blanks)
