"""Written by `make statements` from `sql/gates.py`."""

from preceptor.adapters.storage.statements import Statement

ADD = Statement(
    "INSERT INTO label_gates (org, family, name, body) VALUES (?, ?, ?, ?)",
    'INSERT INTO label_gates (org, family, name, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR)',
    ("org", "family", "name", "body"),
)
ADD_VERDICT = Statement(
    "INSERT INTO gate_verdicts (org, family, name, instruction, body) VALUES (?, ?, ?, ?, ?)",
    'INSERT INTO gate_verdicts (org, family, name, instruction, body) VALUES (%s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR COLLATE "C", %s::VARCHAR)',
    ("org", "family", "name", "instruction", "body"),
)
FIND = Statement(
    "SELECT label_gates.body \nFROM label_gates \nWHERE label_gates.org = ? AND label_gates.family = ? AND label_gates.name = ?",
    'SELECT label_gates.body \nFROM label_gates \nWHERE label_gates.org = %s::VARCHAR COLLATE "C" AND label_gates.family = %s::VARCHAR COLLATE "C" AND label_gates.name = %s::VARCHAR COLLATE "C"',
    ("org", "of", "named"),
)
FORGET_VERDICT = Statement(
    "DELETE FROM gate_verdicts WHERE gate_verdicts.org = ? AND gate_verdicts.family = ? AND gate_verdicts.name = ? AND gate_verdicts.instruction = ?",
    'DELETE FROM gate_verdicts WHERE gate_verdicts.org = %s::VARCHAR COLLATE "C" AND gate_verdicts.family = %s::VARCHAR COLLATE "C" AND gate_verdicts.name = %s::VARCHAR COLLATE "C" AND gate_verdicts.instruction = %s::VARCHAR COLLATE "C"',
    ("org", "of", "named", "about"),
)
FORGET_VERDICTS = Statement(
    "DELETE FROM gate_verdicts WHERE gate_verdicts.org = ? AND gate_verdicts.family = ? AND gate_verdicts.name = ?",
    'DELETE FROM gate_verdicts WHERE gate_verdicts.org = %s::VARCHAR COLLATE "C" AND gate_verdicts.family = %s::VARCHAR COLLATE "C" AND gate_verdicts.name = %s::VARCHAR COLLATE "C"',
    ("org", "of", "named"),
)
REMOVE = Statement(
    "DELETE FROM label_gates WHERE label_gates.org = ? AND label_gates.family = ? AND label_gates.name = ?",
    'DELETE FROM label_gates WHERE label_gates.org = %s::VARCHAR COLLATE "C" AND label_gates.family = %s::VARCHAR COLLATE "C" AND label_gates.name = %s::VARCHAR COLLATE "C"',
    ("org", "of", "named"),
)
VERDICT = Statement(
    "SELECT gate_verdicts.body \nFROM gate_verdicts \nWHERE gate_verdicts.org = ? AND gate_verdicts.family = ? AND gate_verdicts.name = ? AND gate_verdicts.instruction = ?",
    'SELECT gate_verdicts.body \nFROM gate_verdicts \nWHERE gate_verdicts.org = %s::VARCHAR COLLATE "C" AND gate_verdicts.family = %s::VARCHAR COLLATE "C" AND gate_verdicts.name = %s::VARCHAR COLLATE "C" AND gate_verdicts.instruction = %s::VARCHAR COLLATE "C"',
    ("org", "of", "named", "about"),
)
VERDICTS = Statement(
    "SELECT gate_verdicts.body \nFROM gate_verdicts \nWHERE gate_verdicts.org = ? AND gate_verdicts.family = ? AND gate_verdicts.name = ? ORDER BY gate_verdicts.instruction",
    'SELECT gate_verdicts.body \nFROM gate_verdicts \nWHERE gate_verdicts.org = %s::VARCHAR COLLATE "C" AND gate_verdicts.family = %s::VARCHAR COLLATE "C" AND gate_verdicts.name = %s::VARCHAR COLLATE "C" ORDER BY gate_verdicts.instruction',
    ("org", "of", "named"),
)
