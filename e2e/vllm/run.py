"""Runs engines of vLLM's own parts on several hosts of one machine, with the gate and with vLLM's own check beside it.

A host is a network namespace on a bridge and a mount namespace with a /dev/shm of its own; the service is a host apart. Needs
root, iproute2, a Python with vLLM, and bin/tiergate. Prints a table for docs/e2e-vllm.md and ends with 1 if an engine did not end
as it must.
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TIERS = {"cpu_bytes_to_use": 1 << 20, "spec_name": "TieringOffloadingSpec"}

# name, tensor, pipeline, host of each rank, host of the engine core, tiers, whether ranks and core start. An engine with "named by" has
# no TIERGATE_ENGINE_ID; one with "--nnodes 2" is configured so.
CASES = [
    ("one host", 2, 1, "AA", "A", True, True, True),
    ("TP over two hosts", 2, 1, "AB", None, True, False, None),
    ("PP over two hosts", 1, 2, "AB", None, True, False, None),
    ("uneven, three and one", 2, 2, "AAAB", None, True, False, None),
    ("four on one host", 2, 2, "AAAA", None, True, True, None),
    ("two hosts without tiers", 2, 1, "AB", None, False, True, None),
    ("one host, named by vLLM's engine id", 2, 1, "AA", "A", True, True, True),
    ("two hosts, --nnodes 2, named by the master's address", 2, 1, "AB", None, True, False, None),
    ("core on another host", 2, 1, "AA", "B", True, True, False),
    ("one host whose /dev/shm is full", 2, 1, "AA", None, True, False, None),
]


NETWORK = "10.88.77."
BRIDGE = f"tgv{os.getpid() % 100000}"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


class Hosts:
    """Network and mount namespaces, one of each for each letter, on a bridge with this process."""

    def __init__(self) -> None:
        self.holders: dict[str, subprocess.Popen] = {}

    def address(self, letter: str) -> str:
        return NETWORK + str(ord(letter) - ord("A") + 2)

    def name(self, letter: str) -> str:
        return f"{BRIDGE}{letter}"

    def prefix(self, letter: str) -> list[str]:
        """What stands before a command so that it runs on a host. The host is made when it is first needed."""
        if letter not in self.holders:
            name = self.name(letter)
            ip("netns", "add", name)
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", name, "master", BRIDGE, "up")
            ip("-n", name, "addr", "add", self.address(letter) + "/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
            script = "mount -t tmpfs -o size=64m tiergate-e2e /dev/shm && echo ready && exec sleep 3600"
            holder = subprocess.Popen(["ip", "netns", "exec", name, "unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
            assert holder.stdout is not None and holder.stdout.readline() == "ready\n", "no mount namespace; is this root?"
            self.holders[letter] = holder
        return ["nsenter", "-t", str(self.holders[letter].pid), "-m", "-n"]

    def close(self) -> None:
        for letter, holder in self.holders.items():
            holder.kill()
            holder.wait()
            ip("netns", "del", self.name(letter))


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def engine(args: argparse.Namespace, url: str, number: int, case: tuple) -> list[dict]:
    """Starts all ranks of a case, then the core, and returns what became of each."""
    title, tensor, pipeline, placement, core, tiers, _, _ = case
    name = f"e2e-{os.getpid()}-{number}"
    hosts, kv = Hosts(), tempfile.mkdtemp()
    extra = dict(TIERS, **({"secondary_tiers": [{"type": "fs", "root_dir": kv}]} if tiers else {}))
    base = {"tensor": tensor, "pipeline": pipeline, "init": f"tcp://{hosts.address(placement[0])}:29500", "engine": name, "extra": extra}
    base |= {"full": "is full" in title}
    base |= {"nnodes": 2 if "--nnodes 2" in title else 1, "port": 29501, "address": hosts.address(placement[0])}
    key = {} if "named by" in title else {"TIERGATE_ENGINE_ID": name}

    def start(rank: object, letter: str) -> subprocess.Popen:
        env = dict(
            os.environ, RANK_SPEC=json.dumps(dict(base, rank=rank)), PYTHONPATH=str(ROOT / "python"), TIERGATE_URL=url,
            TIERGATE_LIBRARY=args.library, TIERGATE_DEADLINE="60s", GLOO_SOCKET_IFNAME="eth0", VLLM_HOST_IP=hosts.address(letter),
            VLLM_LOGGING_LEVEL="ERROR", CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1", **key,
        )
        command = [*hosts.prefix(letter), args.python, str(HERE / "rank.py")]
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=args.log, text=True)

    try:
        ranks = [start(rank, letter) for rank, letter in enumerate(placement)]
        results = [json.loads(p.communicate(timeout=300)[0] or "{}") for p in ranks]
        if core:
            results.append(json.loads(start("core", core).communicate(timeout=300)[0] or "{}"))
        return results
    finally:
        hosts.close()


def verdict(case: tuple, results: list[dict]) -> str:
    """Empty if a case ended as it must."""
    _, _, _, placement, _, _, starts, core_starts = case
    ranks, core = results[: len(placement)], results[len(placement) :]
    if any(not r for r in results):
        return "a process died; see the log"
    if any(r["spec"] != "GuardedTieringOffloadingSpec" for r in results):
        return "the plugin did not guard the spec"
    if any(bool(r.get("started")) != starts for r in ranks):
        return "ranks did not end alike"
    if not starts and (len({r["message"].split(": engine")[0] for r in ranks}) != 1 or any(not r["not_implemented"] for r in ranks)):
        return "ranks raise different errors"
    if not starts and len({r["message"] for r in ranks}) != 1:
        return "ranks raise different texts"
    if not starts and any(r["regions"] for r in ranks):
        return "a region was made"
    if core and bool(core[0].get("started")) != core_starts:
        return "the engine core did not end as it must"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", required=True, help="a Python that has vLLM")
    parser.add_argument("--tiergate", default=str(ROOT / "bin" / "tiergate"))
    parser.add_argument("--library", default=str(ROOT / "bin" / "libtiergate.so"))
    parser.add_argument("--only", default="", help="run the engines whose names have this in them")
    args = parser.parse_args()
    cases = [case for case in CASES if args.only in case[0]]
    args.log = open(tempfile.mkstemp(suffix=".log", prefix="e2e-vllm-")[1], "w", encoding="utf-8")
    port, failed = free_port(), 0
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", NETWORK + "1/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")
    url = f"http://{NETWORK}1:{port}"
    serve = [args.tiergate, "serve", "--addr", f"0.0.0.0:{port}", "--allow-unauthenticated"]
    service = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=args.log, text=True)
    assert service.stdout is not None and service.stdout.readline(), "tiergate serve did not start"
    print("| engine | ranks on hosts | core | gate: ranks | gate: core | vLLM's own check, by rank | seconds |")
    print("|---|---|---|---|---|---|---|")
    try:
        for number, case in enumerate(cases):
            began = time.monotonic()
            results = engine(args, url, number, case)
            wrong = verdict(case, results)
            failed += bool(wrong)
            ranks = results[: len(case[3])]
            gate = "all start" if all(r.get("started") for r in ranks) else "all rejected" if not any(r.get("started") for r in ranks) else "split"
            core = "-" if case[4] is None else "starts" if results[-1].get("started") else results[-1].get("error", "died")
            own = " ".join({True: "pass", False: "reject", None: "hangs"}[r.get("own")] for r in ranks)
            print(f"| {case[0]} | {case[3]} | {case[4] or '-'} | {gate} | {core} | {own} | {time.monotonic() - began:.0f} |"
                  + (f" WRONG: {wrong}" if wrong else ""), flush=True)
    finally:
        service.terminate()
        service.wait()
        ip("link", "del", BRIDGE)
    print(f"{len(cases) - failed} passed, {failed} failed; log: {args.log.name}", file=sys.stderr)
    return 1 if failed else 0


sys.exit(main())
