"""The embedded guardian's rules for Vietnamese."""

from preceptor.adapters.guardians.rule_book import (
    ILLEGAL,
    JAILBREAK,
    SELF_HARM,
    SEXUAL,
    VIOLENT,
    Rule,
    Script,
)
from preceptor.domain.reasoning.verdict import Level

_HOW = (
    r"cách|làm sao|làm thế nào|hướng dẫn|chỉ (?:cho )?(?:tôi|mình|em)|dạy (?:tôi|mình|em)|công thức|giúp (?:tôi|mình)"
)
_EXCUSE = r"phòng|bảo vệ|chống|báo cáo|phát hiện|tránh|gỡ|rà phá|nạn nhân|điều trị|cai |xóa"
_PERSON = r"người|vợ|chồng|hàng xóm|sếp|giáo viên|anh|chị|em|bố|mẹ|bạn|ai đó|nó|hắn|cô ấy|anh ấy|trẻ em"

VIETNAMESE = (
    Rule(
        "vi-weapon",
        "bom nổ lựu độc vũ",
        VIOLENT,
        Level.UNSAFE,
        Script.ACCENTED,
        r"bom(?! tấn| hàng| tắm| xịt)(?: xăng| tự chế| mìn)?|thuốc nổ|chất nổ|lựu đạn|chất độc thần kinh|khí độc|"
        r"vũ khí (?:hóa học|sinh học)",
        rf"(?:{_HOW})(?: \w+){{0,3}}? (?:chế tạo|chế|làm|tạo ra|tạo|lắp|sản xuất|kích nổ)(?: ra)?(?: một)?(?: quả|"
        rf" trái)?|"
        r"công thức|cách chế",
        _EXCUSE,
    ),
    Rule(
        "vi-kill",
        "giết đầu ám chết",
        VIOLENT,
        Level.UNSAFE,
        Script.ACCENTED,
        rf"(?:giết|đầu độc|ám sát|đâm chết|bắn chết) (?:{_PERSON})",
        rf"{_HOW}|(?:tôi|mình) (?:muốn|sẽ|định)",
        rf"{_EXCUSE}|thời gian",
    ),
    Rule(
        "vi-drugs",
        "ma heroin cocain thuốc cần",
        ILLEGAL,
        Level.UNSAFE,
        Script.ACCENTED,
        r"ma t(?:úy|uý)(?: đá)?|heroin|cocaine?|thuốc lắc|cần sa",
        rf"(?:{_HOW})(?: \w+){{0,3}}? (?:điều chế|nấu|chế|làm|sản xuất|buôn|bán|vận chuyển)|công thức",
        rf"{_EXCUSE}|nghiện|cai nghiện",
    ),
    Rule(
        "vi-fraud",
        "hack cắp chiếm trộm rửa giả",
        ILLEGAL,
        Level.UNSAFE,
        Script.ACCENTED,
        r"(?:hack|đánh cắp|ăn cắp|chiếm đoạt|trộm) (?:\w+ )?(?:tài khoản|mật khẩu|thẻ tín dụng|tiền|ngân hàng|"
        r"facebook|điện thoại)(?: của)?|"
        r"rửa tiền|làm giả (?:giấy tờ|hộ chiếu|chữ ký|căn cước|tiền)|làm tiền giả",
        rf"{_HOW}|(?:tôi|mình) muốn",
        rf"{_EXCUSE}|khi bị|nếu bị|bị hack",
    ),
    Rule(
        "vi-malware",
        "độc virus tống lừa keylogger",
        ILLEGAL,
        Level.UNSAFE,
        Script.ACCENTED,
        r"mã độc|virus (?:máy tính|tống tiền)|phần mềm tống tiền|trang (?:web )?lừa đảo|email lừa đảo|keylogger",
        r"viết|tạo|lập trình|phát triển|phát tán",
        _EXCUSE,
    ),
    Rule(
        "vi-child-abuse",
        "khiêu ảnh phim truyện",
        SEXUAL,
        Level.UNSAFE,
        Script.ACCENTED,
        r"(?:khiêu dâm|ảnh nóng|phim sex|truyện sex|ảnh khỏa thân)(?: \w+){0,2} (?:trẻ em|trẻ vị thành niên|bé gái|"
        r"bé trai)",
        "",
        rf"{_EXCUSE}|ngăn",
    ),
    Rule(
        "vi-suicide-method",
        "tự liễu cuộc",
        SELF_HARM,
        Level.UNSAFE,
        Script.ACCENTED,
        r"tự tử|tự sát|kết liễu đời mình|kết thúc cuộc đời(?: mình)?",
        r"cách|làm sao(?: để)?|làm thế nào(?: để)?|chỉ (?:cho )?(?:tôi|mình)",
        r"ngăn|giúp|phòng|tránh|khuyên|bạn tôi",
    ),
    Rule(
        "vi-suicide-wish",
        "tự sống cuộc",
        SELF_HARM,
        Level.CONTROVERSIAL,
        Script.ACCENTED,
        r"tự tử|tự sát|không muốn sống nữa|kết thúc cuộc đời(?: mình)?",
        r"(?:tôi|mình|em)(?: chỉ)?(?: muốn| định| sẽ)?",
        r"giúp|ngăn|phòng",
    ),
    Rule(
        "vi-jailbreak",
        "hướng chỉ quy lệnh giới",
        JAILBREAK,
        Level.CONTROVERSIAL,
        Script.ACCENTED,
        r"(?:mọi |tất cả |các |những )*(?:hướng dẫn|chỉ dẫn|quy tắc|lệnh|chỉ thị|giới hạn)(?: \w+){0,2} "
        r"(?:trước(?: đó)?|ở trên|phía trên|hệ thống|cũ|của bạn)",
        r"bỏ qua|phớt lờ|quên|làm ngơ|vượt qua|tiết lộ",
    ),
)
