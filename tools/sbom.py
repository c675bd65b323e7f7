"""Write the bill of materials: every package of the lock, with its version and hashes, as CycloneDX 1.6.

The same lock and version give the same bytes, so two builds can be compared. Licences are told where the package is
installed here and says one.
"""

import json
import re
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))
from version import ROOT, version

PINNED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)(?: *; *([^\\]+))?", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def packages(lock: str) -> Iterator[tuple[str, str, str | None, list[str]]]:
    """Name, version, where it is needed, and the hashes of its files."""
    found = list(PINNED.finditer(lock))
    for here, after in zip(found, [*found[1:], None], strict=True):
        block = lock[here.end() : after.start() if after else len(lock)]
        yield here[1], here[2], here[3] and here[3].strip(), HASH.findall(block)


def component(name: str, number: str, needed: str | None, hashes: list[str]) -> dict[str, Any]:
    normal = re.sub(r"[-_.]+", "-", name).lower()
    purl = f"pkg:pypi/{normal}@{number}"
    told = [{"name": "preceptor:sha256", "value": one} for one in sorted(hashes)]
    if needed:
        told.append({"name": "preceptor:marker", "value": needed})
    licence = licence_of(name)
    return {
        "type": "library",
        "bom-ref": purl,
        "name": normal,
        "version": number,
        "purl": purl,
        **({"licenses": [licence]} if licence else {}),
        "properties": told,
    }


def licence_of(name: str) -> dict[str, Any] | None:
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return None
    said = about.json.get("license_expression")
    if said:
        return {"expression": said}
    short = about.json.get("license")
    return {"license": {"name": short}} if short and len(short) < 80 and "\n" not in short else None


def bill(lock: str, number: str) -> dict[str, Any]:
    parts = [component(*one) for one in packages(lock)]
    ours = f"pkg:pypi/preceptor@{number}"
    serial = uuid.uuid5(uuid.NAMESPACE_URL, f"{ours}\n{lock}")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": ours,
                "name": "preceptor",
                "version": number,
                "purl": ours,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": ours, "dependsOn": sorted(part["bom-ref"] for part in parts)}],
    }


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    target.mkdir(parents=True, exist_ok=True)
    number = version()
    written = bill((ROOT / "requirements.lock").read_text(encoding="utf-8"), number)
    path = target / f"preceptor-{number}.cdx.json"
    path.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"{path}\n")
