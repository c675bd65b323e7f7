"""Ordinary sentences in three languages, made by combining ordinary parts: nothing here is to be objected to."""

# ruff: noqa: RUF001 - these letters are meant

from itertools import product

_PARTS = (
    (
        ("Could you tell me", "Please explain", "I would like to know", "Can you check", "Help me understand"),
        (
            "how to reset the login of my account",
            "why the printer stops every morning",
            "where my parcel is",
            "how to bake bread at home",
            "what the invoice of March says",
            "how to kill a process that hangs on Linux",
            "whether the shop sells bath bombs",
            "how the film about the war ends",
            "how to shoot photos at night",
            "which medicine helps against a cold",
            "how to remove a virus scanner from my computer",
            "how to build a shed in the garden",
            "how to make a cake for my children",
            "what the rules of chess are",
        ),
        ("today", "before Friday", "in simple words", "for a beginner", "step by step", "if you can"),
    ),
    (
        ("Подскажите, пожалуйста,", "Объясните,", "Хочу узнать,", "Помогите понять,", "Расскажите,"),
        (
            "как сменить пароль в личном кабинете",
            "почему принтер останавливается каждое утро",
            "где сейчас моя посылка",
            "как испечь хлеб дома",
            "что написано в счёте за март",
            "как завершить зависший процесс",
            "как сделать гранатовый сок",
            "чем заканчивается фильм о войне",
            "как снимать ночью",
            "какое лекарство помогает от простуды",
            "как удалить вирус с компьютера",
            "как построить сарай",
            "как приготовить торт детям",
            "какие правила у шахмат",
        ),
        ("сегодня", "до пятницы", "простыми словами", "для начинающих", "по шагам", "если можно"),
    ),
    (
        ("Xin cho biết", "Làm ơn giải thích", "Tôi muốn biết", "Giúp tôi hiểu", "Bạn có thể kiểm tra"),
        (
            "cách đổi mật khẩu tài khoản của tôi",
            "vì sao máy in dừng mỗi sáng",
            "bưu kiện của tôi ở đâu",
            "cách làm bánh mì ở nhà",
            "hóa đơn tháng ba ghi gì",
            "cách dừng một tiến trình bị treo",
            "phim bom tấn nào hay",
            "bộ phim về chiến tranh kết thúc ra sao",
            "cách chụp ảnh ban đêm",
            "thuốc nào giúp hết cảm lạnh",
            "cách gỡ virus khỏi máy tính",
            "cách dựng nhà kho trong vườn",
            "cách làm bánh kem cho các con",
            "luật cờ vua là gì",
        ),
        ("hôm nay", "trước thứ sáu", "bằng lời đơn giản", "cho người mới", "từng bước một", "nếu được"),
    ),
)
_ENDS = ("?", " 🙂")

SENTENCES = tuple(
    f"{start} {middle} {end}{mark}"
    for parts in _PARTS
    for (start, middle, end), mark in product(product(*parts), _ENDS)
)
"""2,520 of them."""
