"""What people are told about experiments: one sentence that does not change from look to look without a reason."""

# ruff: noqa: RUF001 - these letters are meant

from preceptor.domain.phrases import Catalogue

KEYS: dict[str, tuple[str, ...]] = {
    "not_started": (),
    "withheld": ("checks",),
    "too_early": ("least",),
    "collecting": ("metric",),
    "undecided": ("metric",),
    "variant_better": ("metric",),
    "control_better": ("metric",),
    "guardrail_broken": ("metric",),
    "srm": (),
    "crossover": (),
    "rendered_mismatch": (),
    "power_unknown": ("needed",),
    "power_not_yet": ("needed",),
    "power_in_time": ("needed", "days"),
    "power_too_late": ("needed", "days", "duration"),
}

PHRASES = Catalogue(
    {
        "en": {
            "not_started": "This experiment has not started yet.",
            "withheld": "No verdict: the numbers cannot be believed until this is put right: {{checks}}.",
            "too_early": "It is too early to say anything: each arm needs at least {{least}} units.",
            "collecting": "So far no difference in {{metric}} is shown. Looking does no harm; it goes on.",
            "undecided": "It has ended, and no difference in {{metric}} was shown.",
            "variant_better": "The variant is better in {{metric}}.",
            "control_better": "The control is better in {{metric}}.",
            "guardrail_broken": "The variant harms {{metric}}, which was to be guarded.",
            "srm": "the units are not split as they should be",
            "crossover": "some units were shown both arms",
            "rendered_mismatch": "some turns were shown something else than what they were assigned",
            "power_unknown": (
                "It needs about {{needed}} units to decide. How long that takes is not known: "
                "there was no traffic of late."
            ),
            "power_not_yet": (
                "It needs about {{needed}} units to decide. How long that takes can be told after a day of traffic."
            ),
            "power_in_time": "It needs about {{needed}} units to decide. Days at the present traffic: about {{days}}.",
            "power_too_late": (
                "It will not decide in the {{duration}} days that it is given: it needs about {{needed}} units, "
                "which take about {{days}} days at the present traffic."
            ),
        },
        "ru": {
            "not_started": "Эксперимент ещё не начался.",
            "withheld": "Вывода нет: числам нельзя верить, пока не исправлено следующее: {{checks}}.",
            "too_early": "Говорить рано: в каждой группе нужно не меньше {{least}} единиц.",
            "collecting": "Пока различие по показателю {{metric}} не выявлено. Смотреть можно; сбор продолжается.",
            "undecided": "Эксперимент завершён, различие по показателю {{metric}} не выявлено.",
            "variant_better": "Вариант лучше по показателю {{metric}}.",
            "control_better": "Контроль лучше по показателю {{metric}}.",
            "guardrail_broken": "Вариант ухудшает показатель {{metric}}, который следовало беречь.",
            "srm": "единицы распределены не так, как задано",
            "crossover": "части единиц были показаны обе группы",
            "rendered_mismatch": "в части ходов было показано не то, что назначено",
            "power_unknown": (
                "Для вывода нужно около {{needed}} единиц. Сколько это займёт, неизвестно: "
                "в последнее время обращений не было."
            ),
            "power_not_yet": (
                "Для вывода нужно около {{needed}} единиц. Сколько это займёт, станет ясно через сутки после начала."
            ),
            "power_in_time": (
                "Для вывода нужно около {{needed}} единиц: около {{days}} дн. при нынешнем потоке обращений."
            ),
            "power_too_late": (
                "За отведённые {{duration}} дн. вывода не будет: нужно около {{needed}} единиц, "
                "а это около {{days}} дн. при нынешнем потоке обращений."
            ),
        },
        "vi": {
            "not_started": "Thử nghiệm này chưa bắt đầu.",
            "withheld": "Chưa có kết luận: chưa thể tin các con số cho đến khi sửa xong: {{checks}}.",
            "too_early": "Còn quá sớm để kết luận: mỗi nhóm cần ít nhất {{least}} đơn vị.",
            "collecting": "Đến nay chưa thấy khác biệt về {{metric}}. Cứ xem, không hại gì; thử nghiệm vẫn tiếp tục.",
            "undecided": "Thử nghiệm đã kết thúc và không thấy khác biệt về {{metric}}.",
            "variant_better": "Phương án mới tốt hơn về {{metric}}.",
            "control_better": "Nhóm đối chứng tốt hơn về {{metric}}.",
            "guardrail_broken": "Phương án mới làm xấu đi {{metric}}, chỉ số cần được bảo vệ.",
            "srm": "các đơn vị không được chia đúng tỷ lệ",
            "crossover": "một số đơn vị đã thấy cả hai nhóm",
            "rendered_mismatch": "một số lượt đã hiển thị nội dung khác với nội dung được chỉ định",
            "power_unknown": (
                "Cần khoảng {{needed}} đơn vị để kết luận. Không biết mất bao lâu: gần đây không có lượt nào."
            ),
            "power_not_yet": (
                "Cần khoảng {{needed}} đơn vị để kết luận. Sau một ngày có lượt mới biết được mất bao lâu."
            ),
            "power_in_time": ("Cần khoảng {{needed}} đơn vị để kết luận: khoảng {{days}} ngày với lưu lượng hiện nay."),
            "power_too_late": (
                "Sẽ không có kết luận trong {{duration}} ngày đã định: cần khoảng {{needed}} đơn vị, "
                "tức khoảng {{days}} ngày với lưu lượng hiện nay."
            ),
        },
    },
    KEYS,
)
