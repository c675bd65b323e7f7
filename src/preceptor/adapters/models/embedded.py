"""The process of the embedded model: it serves one file of weights on loopback, for as long as its parent lives.

Its first line of input says what to serve, its only line of output where. It ends when its input does: a parent that is
gone has closed it, however it went. A fault in the model's machine code ends this process, and no other.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any


def serve(wanted: dict[str, Any]) -> str:
    """Load the weights and serve them. Answers with the address."""
    library: Any = import_module("xllamacpp")
    params = library.CommonParams()
    params.model.path = wanted["weights"]
    params.model_alias = {wanted["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [wanted["key"]]
    params.n_ctx = wanted["window"]
    params.n_parallel = 2
    params.kv_unified = True
    params.n_predict = wanted["longest"]
    params.sampling.temp = wanted["temperature"]
    params.sampling.top_p = wanted["top_p"]
    params.sampling.penalty_repeat = 1.1
    params.sampling.dry_multiplier = 0.8
    for cores in (params.cpuparams, params.cpuparams_batch):
        cores.n_threads = wanted["threads"]
    params.cache_ram_mib = 0
    params.fit_params = False
    params.offline = True
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = -1
    SERVING.append(server := library.Server(params))
    return server.listening_address


SERVING: list[Any] = []
"""It serves until it is forgotten."""


def main() -> None:
    address = serve(json.loads(sys.stdin.readline()))
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    while sys.stdin.readline():
        pass
    os._exit(0)  # nothing here is worth a farewell, and threads of the model may be at work


if __name__ == "__main__":
    main()
