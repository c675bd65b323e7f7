"""One peer in a process of its own, under a Python that has it: `PYTHON -m benchmarks.peers NAME FOLDER SHAPE`.

Each line on standard input is a number of turns; for each, a line with wall clock, CPU and bytes written goes out. A
peer that is not there says so and ends.
"""

import json
import sys
from importlib import import_module
from pathlib import Path

from benchmarks.interleaved import measured
from benchmarks.said import Shape


def main(name: str, folder: Path, shape: Shape) -> None:
    try:
        peer = import_module(f"benchmarks.peers.with_{name}").Peer(folder, shape)
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), flush=True)
        return
    print(json.dumps({"ready": name}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measured(peer, int(line))), flush=True)
    peer.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Shape(*json.loads(sys.argv[3])))
