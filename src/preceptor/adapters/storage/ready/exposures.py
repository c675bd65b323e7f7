"""Written by `make statements` from `sql/exposures.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO exposures (org, experiment, conversation, unit, arm, turns, asked, control, variant, mismatches, completed, clarified, blocked, failed, tokens, cost, milliseconds, checked, passed, planned, consistency) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO exposures (org, experiment, conversation, unit, arm, turns, asked, control, variant, mismatches, completed, clarified, blocked, failed, tokens, cost, milliseconds, checked, passed, planned, consistency) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s)',
    (
        "org",
        "experiment",
        "conversation",
        "unit",
        "arm",
        "turns",
        "asked",
        "control",
        "variant",
        "mismatches",
        "completed",
        "clarified",
        "blocked",
        "failed",
        "tokens",
        "cost",
        "milliseconds",
        "checked",
        "passed",
        "planned",
        "consistency",
    ),
)
ALL = Statement(
    "SELECT exposures.conversation, exposures.unit, exposures.arm, exposures.turns, exposures.asked, exposures.control, exposures.variant, exposures.mismatches, exposures.completed, exposures.clarified, exposures.blocked, exposures.failed, exposures.tokens, exposures.cost, exposures.milliseconds, exposures.checked, exposures.passed, exposures.planned, exposures.consistency \nFROM exposures \nWHERE exposures.org = ? AND exposures.experiment = ? ORDER BY exposures.conversation",
    'SELECT exposures.conversation, exposures.unit, exposures.arm, exposures.turns, exposures.asked, exposures.control, exposures.variant, exposures.mismatches, exposures.completed, exposures.clarified, exposures.blocked, exposures.failed, exposures.tokens, exposures.cost, exposures.milliseconds, exposures.checked, exposures.passed, exposures.planned, exposures.consistency \nFROM exposures \nWHERE exposures.org = %s::VARCHAR COLLATE "C" AND exposures.experiment = %s::VARCHAR COLLATE "C" ORDER BY exposures.conversation',
    ("org", "of"),
)
MORE = Statement(
    "UPDATE exposures SET turns=(exposures.turns + ?), asked=(exposures.asked + ?), control=(exposures.control + ?), variant=(exposures.variant + ?), mismatches=(exposures.mismatches + ?), completed=(exposures.completed + ?), clarified=(exposures.clarified + ?), blocked=(exposures.blocked + ?), failed=(exposures.failed + ?), tokens=(exposures.tokens + ?), cost=(exposures.cost + ?), milliseconds=(exposures.milliseconds + ?), checked=(exposures.checked + ?), passed=(exposures.passed + ?), planned=(exposures.planned + ?), consistency=(exposures.consistency + ?) WHERE exposures.org = ? AND exposures.experiment = ? AND exposures.conversation = ?",
    'UPDATE exposures SET turns=(exposures.turns + %s::BIGINT), asked=(exposures.asked + %s::BIGINT), control=(exposures.control + %s::BIGINT), variant=(exposures.variant + %s::BIGINT), mismatches=(exposures.mismatches + %s::BIGINT), completed=(exposures.completed + %s::BIGINT), clarified=(exposures.clarified + %s::BIGINT), blocked=(exposures.blocked + %s::BIGINT), failed=(exposures.failed + %s::BIGINT), tokens=(exposures.tokens + %s::BIGINT), cost=(exposures.cost + %s), milliseconds=(exposures.milliseconds + %s::BIGINT), checked=(exposures.checked + %s::BIGINT), passed=(exposures.passed + %s::BIGINT), planned=(exposures.planned + %s::BIGINT), consistency=(exposures.consistency + %s) WHERE exposures.org = %s::VARCHAR COLLATE "C" AND exposures.experiment = %s::VARCHAR COLLATE "C" AND exposures.conversation = %s::VARCHAR COLLATE "C"',
    (
        "more_turns",
        "more_asked",
        "more_control",
        "more_variant",
        "more_mismatches",
        "more_completed",
        "more_clarified",
        "more_blocked",
        "more_failed",
        "more_tokens",
        "more_cost",
        "more_milliseconds",
        "more_checked",
        "more_passed",
        "more_planned",
        "more_consistency",
        "org",
        "of",
        "in_",
    ),
)
PAGE = Statement(
    "SELECT exposures.conversation, exposures.unit, exposures.arm, exposures.turns, exposures.asked, exposures.control, exposures.variant, exposures.mismatches, exposures.completed, exposures.clarified, exposures.blocked, exposures.failed, exposures.tokens, exposures.cost, exposures.milliseconds, exposures.checked, exposures.passed, exposures.planned, exposures.consistency \nFROM exposures \nWHERE exposures.org = ? AND exposures.experiment = ? AND exposures.conversation > ? AND (CAST(? AS TEXT) IS NULL OR exposures.arm = ?) ORDER BY exposures.conversation\n LIMIT ? OFFSET 0",
    'SELECT exposures.conversation, exposures.unit, exposures.arm, exposures.turns, exposures.asked, exposures.control, exposures.variant, exposures.mismatches, exposures.completed, exposures.clarified, exposures.blocked, exposures.failed, exposures.tokens, exposures.cost, exposures.milliseconds, exposures.checked, exposures.passed, exposures.planned, exposures.consistency \nFROM exposures \nWHERE exposures.org = %s::VARCHAR COLLATE "C" AND exposures.experiment = %s::VARCHAR COLLATE "C" AND exposures.conversation > %s::VARCHAR COLLATE "C" AND (CAST(%s AS TEXT) IS NULL OR exposures.arm = %s::VARCHAR COLLATE "C") ORDER BY exposures.conversation \n LIMIT %s OFFSET 0',
    ("org", "of", "after", "arm", "arm", "limit"),
)
SAID = Statement(
    "SELECT exposures.conversation, signals.metric, sum(signals.value) AS sum_1, count(*) AS count_1 \nFROM exposures JOIN signals ON signals.org = exposures.org AND signals.conversation = exposures.conversation \nWHERE exposures.org = ? AND exposures.experiment = ? AND exposures.conversation >= ? AND exposures.conversation <= ? GROUP BY exposures.conversation, signals.metric",
    'SELECT exposures.conversation, signals.metric, sum(signals.value) AS sum_1, count(*) AS count_1 \nFROM exposures JOIN signals ON signals.org = exposures.org AND signals.conversation = exposures.conversation \nWHERE exposures.org = %s::VARCHAR COLLATE "C" AND exposures.experiment = %s::VARCHAR COLLATE "C" AND exposures.conversation >= %s::VARCHAR COLLATE "C" AND exposures.conversation <= %s::VARCHAR COLLATE "C" GROUP BY exposures.conversation, signals.metric',
    ("org", "of", "first", "last"),
)
TELL = Statement(
    "INSERT INTO signals (org, conversation, metric, about, user, value, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
    'INSERT INTO signals (org, conversation, metric, about, "user", value, at) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s, %s::BIGINT)',
    ("org", "conversation", "metric", "about", "user", "value", "at"),
)
TRAFFIC = Statement(
    "SELECT count(*) AS count_1, count(DISTINCT conversations.user) AS count_2 \nFROM conversations \nWHERE conversations.org = ? AND conversations.agent = ? AND conversations.id >= ?",
    'SELECT count(*) AS count_1, count(DISTINCT conversations."user") AS count_2 \nFROM conversations \nWHERE conversations.org = %s::VARCHAR COLLATE "C" AND conversations.agent = %s::VARCHAR COLLATE "C" AND conversations.id >= %s::VARCHAR COLLATE "C"',
    ("org", "agent", "first"),
)
UNTELL = Statement(
    "DELETE FROM signals WHERE signals.org = ? AND signals.conversation = ? AND signals.metric = ? AND signals.about = ? AND signals.user = ?",
    'DELETE FROM signals WHERE signals.org = %s::VARCHAR COLLATE "C" AND signals.conversation = %s::VARCHAR COLLATE "C" AND signals.metric = %s::VARCHAR COLLATE "C" AND signals.about = %s::VARCHAR COLLATE "C" AND signals."user" = %s::VARCHAR COLLATE "C"',
    ("org", "conversation", "metric", "about", "user"),
)
