"""The instruction library under load: what it takes to merge a thousand assignments, to read, and to look for words.

- L5: the CPU of one merge of 1,000 assignments of ten lines each: the prompt alone, which is what a turn needs after a
  change, and with the source of every line. Reading an agent's effective instructions over HTTP, 16 connections.
- S15: the CPU of looking for keywords, disguised ones too, in 100 KB of text of as many different words as a book has.
"""

# ruff: noqa: RUF001 - these letters are meant

import json
import random
import shutil
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.api import Measured, Server, measure, start
from preceptor.domain.ids import AssignmentId, FamilyId, InstructionId, OrgId, UserId
from preceptor.domain.instructions.check import check
from preceptor.domain.instructions.content import ValidationRules
from preceptor.domain.instructions.effective import Assignment
from preceptor.domain.instructions.instruction import InstructionVersion
from preceptor.domain.instructions.lifecycle import Status
from preceptor.domain.instructions.merge import merge
from preceptor.domain.instructions.parts import in_turn, part_from, prompt_of
from preceptor.domain.instructions.version import FIRST
from preceptor.domain.ownership import Owner

ASSIGNED = 1_000
READ = 10
"""Instructions of the agent that is read."""
ROUNDS = 15
BYTES = 100_000
SYLLABLES = {
    "English": ("b c d f g h l m n p r s t th w st pr", "a e i o u ea ou", " n r s t l nd"),
    "Vietnamese": (
        "b c ch d đ g h kh l m n ng nh ph t th tr v x",
        "a á à ả ạ ă ắ â ấ ậ ê ế ệ i ơ ờ ợ ư ứ ô ố",
        " n ng nh t c m p",
    ),
    "Russian": ("б в г д ж з к л м н п р с т ф х ч ш", "а е и о у ы я ю", " н т л сть"),
}
"""How words begin, go on and end."""
WORDS = 5_000


def main() -> list[str]:
    return [*merging(), *reading(), *looking()]


def told(place: int) -> dict[str, object]:
    return {
        "systemPrompt": f"Part {place}.",
        "guidelines": [*(f"Guideline {place}.{number}" for number in range(2)), "Be kind"],
        "constraints": [f"Never {place}", {"text": f"Nor ever {place}", "locked": True}],
        "doList": [f"Do {place}"],
        "dontList": [f"Do not {place}"],
        "tone": ("casual", "formal")[place % 2],
        "examples": [{"input": f"In {place}", "expectedOutput": "Out"}],
    }


def assignments(count: int) -> Iterator[Assignment]:
    now, owner = datetime.now(UTC), Owner(org_id=OrgId("acme"), user_id=UserId("ann"))
    for place in range(count):
        version = InstructionVersion(
            name=f"i{place}",
            type=("system", "task", "behavior")[place % 3],  # pyright: ignore[reportArgumentType]
            content=told(place),  # pyright: ignore[reportArgumentType]
            family_id=FamilyId(f"f{place}"),
            instruction_id=InstructionId(f"i{place}"),
            version=FIRST,
            status=Status.ACTIVE,
            owner=owner,
            created_by=owner.user_id,
            updated_by=owner.user_id,
            created_at=now,
            updated_at=now,
        )
        yield Assignment(
            assignment_id=AssignmentId(f"a{place}"), version=version, priority=place % 7, applied_at=now, seq=place
        )


def merging() -> list[str]:
    given = list(assignments(ASSIGNED))
    parts = [part_from(one) for one in given]
    alone = cpu(lambda: prompt_of(in_turn(parts)))
    whole = cpu(lambda: merge(given))
    return [
        f"L5: {ASSIGNED} assignments merged into a prompt in {alone:.1f} ms of CPU (goal <= 50)",
        f"L5: {ASSIGNED} assignments merged with the source of every line in {whole:.1f} ms of CPU (goal <= 50)",
    ]


def reading() -> list[str]:
    folder = Path(tempfile.mkdtemp(prefix="preceptor-bench-"))
    server = start("preceptor", folder)
    try:
        for place in range(READ):
            made = _post(server, "/api/instructions", {"name": f"i{place}", "type": "system", "content": told(place)})
            _post(server, "/api/agents/assistant/instructions", {"instructionId": made["familyId"], "priority": place})
        server.read = "/api/agents/assistant/instructions/effective"
        measure(server, "GET", 200)
        found = [measure(server, "GET", 1_000) for _ in range(3)]
    finally:
        server.process.terminate()
        server.process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)
    return [_rate(found)]


def _rate(found: list[Measured]) -> str:
    rates, waits = [one.rate for one in found], [one.p99 * 1e3 for one in found]
    return (
        f"L5: effective instructions of {READ} read at {min(rates):.0f} to {max(rates):.0f} req/s (goal >= 300), "
        f"p99 {min(waits):.0f} to {max(waits):.0f} ms (goal <= 50), "
        f"{statistics.median(one.cpu for one in found) * 1e6:.0f} µs of CPU each"
    )


def _post(server: Server, path: str, body: object) -> dict[str, str]:
    headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def looking() -> list[str]:
    few = ValidationRules(prohibited_keywords=("casino", "казино", "cờ bạc", "LGTM without review"))
    many = ValidationRules(prohibited_keywords=tuple(f"từ cấm {number}" for number in range(500)))
    lines: list[str] = []
    for language in SYLLABLES:
        text = prose(language)
        some, all_ = (cpu(lambda text=text, rules=rules: check(text, rules)) for rules in (few, many))
        lines.append(
            f"S15: 4 keywords in 100 KB of {language} in {some:.1f} ms of CPU, 500 in {all_:.1f} ms (goal <= 10)"
        )
    return lines


def prose(language: str) -> str:
    """Words that are used as unequally as those of a language, with numbers, commas and full stops."""
    chance = random.Random(15)
    parts = [part.split(" ") for part in SYLLABLES[language]]
    most = 1 if language == "Vietnamese" else 4
    words = [
        "".join(chance.choice(part) for _ in range(chance.randint(1, most)) for part in parts)
        + chance.choice(["", "", "", "", "", ",", "."])
        for _ in range(WORDS)
    ]
    said = chance.choices([*words, "10", "2026"], weights=[1 / place for place in range(1, WORDS + 3)], k=BYTES // 2)
    return " ".join(said).encode()[:BYTES].decode(errors="ignore")


def cpu(work: Callable[[], object]) -> float:
    """The least of some rounds, in milliseconds: what else goes on in the machine can only add to it."""
    took: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        took.append((time.process_time() - began) * 1e3)
    return min(took)


if __name__ == "__main__":
    print("\n".join(main()))
