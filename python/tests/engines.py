"""A real service and ranks as real processes, for the tests."""

from __future__ import annotations

import json
import os
import pathlib
import socket
import subprocess
import sys
import uuid
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TIERGATE_PROGRAM") or str(ROOT / "bin" / "tiergate")
LIBRARY = os.environ.get("TIERGATE_LIBRARY") or str(ROOT / "bin" / "libtiergate.so")

# Exits with the signal's own behaviour unless a test says otherwise; prints one object when it is done.
RANK = """
import json, os, sys
import tiergate
spec = json.loads(sys.argv[1])
result = {"ran": False}
def callback():
    result["ran"] = True
    return "worker"
try:
    result["value"] = tiergate.Gate(**spec).register_kv(callback)
except BaseException as err:
    result["error"] = type(err).__name__
    result["bases"] = [base.__name__ for base in type(err).__mro__]
    result["message"] = str(err)
print(json.dumps(result), flush=True)
"""


def environment(**more: str) -> dict[str, str]:
    """The environment of a child: this one without what a launcher set, and with the library and the program of this tree."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TIERGATE_", "SLURM_", "LWS_", "OMPI_", "TORCHELASTIC_"))}
    path = os.pathsep.join(filter(None, (str(ROOT / "python"), os.environ.get("PYTHONPATH", ""))))
    return {**kept, "PYTHONPATH": path, "TIERGATE_LIBRARY": LIBRARY, "TIERGATE_PROGRAM": PROGRAM, **more}


def python(script: str, *args: str, **more: str) -> subprocess.Popen[str]:
    """Starts a script in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *args],
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Service:
    """`tiergate serve` on a port of its own."""

    def __init__(self) -> None:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{s.getsockname()[1]}"
        self.url = f"http://{address}"
        self._process = subprocess.Popen(
            [PROGRAM, "serve", "--addr", address], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError(f"{PROGRAM} serve did not start; make build and make library come first")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def members(url: str, world: int, tier: str = "fs", deadline: float = 20.0) -> list[dict[str, Any]]:
    """The arguments of Gate for each rank of a tensor-parallel engine. Tier "" is an engine without secondary tiers."""
    tiers = [{"type": tier, "root_dir": "/tmp/kv"}] if tier else []
    extra = {"spec_name": "TieringOffloadingSpec", "cpu_bytes_to_use": 1 << 20, "secondary_tiers": tiers}
    transfer = {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}
    engine = {"version": "0.33.0", "executor": "mp", "parallel": {"tensor": world}}
    name = f"python-{uuid.uuid4()}"
    return [
        {
            "url": url,
            "engine_id": name,
            "rank": rank,
            "world_size": world,
            "groups": {"tp": list(range(world)), "pp": [rank], "pcp": [rank]},
            "engine": engine,
            "transfer": json.dumps(transfer),
            "deadline": deadline,
        }
        for rank in range(world)
    ]


def result(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a rank printed."""
    out, err = process.communicate(timeout=60)
    if not out:
        raise AssertionError(f"a rank ended with {process.returncode} and printed nothing: {err}")
    answer: dict[str, Any] = json.loads(out)
    return answer


def until_reported(process: subprocess.Popen[str]) -> None:
    """Reads a rank's log until it has sent its report and waits for the others."""
    assert process.stderr is not None
    if not any("report sent" in line for line in process.stderr):
        raise AssertionError(f"a rank ended with {process.wait()} before it reported")
