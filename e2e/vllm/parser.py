"""Compares what Tiergate reads of a `vllm serve` command with what vLLM's own parser and configuration classes read.

    parser.py TIERGATE [--random N] [--seed N]

runs in a Python that has vLLM. The commands are those of testdata/launches, and random ones over the flags that decide
something. vLLM's side is its real subcommand parser, AsyncEngineArgs.from_cli_args, KVTransferConfig and ParallelConfig; of these only the detection
of a device is replaced. What needs a model, a device or other processes is not made. Every difference is printed; the exit status is 1 if one
is not among those that are explained below.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).parents[2]

# What is compared: vLLM's attribute, and where Tiergate's facts have the same.
SIZES = {
    "tensor_parallel_size": "tensor",
    "pipeline_parallel_size": "pipeline",
    "prefill_context_parallel_size": "prefill_context",
    "decode_context_parallel_size": "decode_context",
    "data_parallel_size": "data",
    "data_parallel_size_local": "data_local",
}


def vllm_parser():
    from vllm.platforms import current_platform

    current_platform.device_type = "cpu"  # without a device there is no default for the configuration of one
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = FlexibleArgumentParser()
    ServeSubcommand().subparser_init(parser.add_subparsers(dest="subparser"))
    return parser


def vllm_reads(parser, argv: list[str]) -> dict:
    """What vLLM makes of the words behind `vllm`, or the error that it ends with."""
    from vllm.engine.arg_utils import AsyncEngineArgs

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            args = parser.parse_args(argv)
            engine = AsyncEngineArgs.from_cli_args(args)
    except SystemExit:
        lines = [line for line in said.getvalue().splitlines() if line.strip() and "further information" not in line]
        return {"error": lines[-1].strip() if lines else "exit"}
    except Exception as err:  # what a configuration class raises is its refusal
        return {"error": f"{type(err).__name__}: {str(err).splitlines()[0]}"}
    out = {ours: getattr(engine, theirs) for theirs, ours in SIZES.items()}
    out.update(nnodes=engine.nnodes, node_rank=engine.node_rank, headless=bool(getattr(args, "headless", False)))
    backend = engine.distributed_executor_backend
    if backend is not None:
        out["executor"] = backend if isinstance(backend, str) else f"{backend.__module__}.{backend.__qualname__}"
    transfer = engine.kv_transfer_config
    if transfer is not None:
        out["connector"] = transfer.kv_connector
        out["role"] = transfer.kv_role
        out["tiered"] = tiered(transfer.kv_connector_extra_config)
    out["offloading_size"] = engine.kv_offloading_size
    if refusal := parallel_refusal(engine):
        return {"error": refusal}
    return out


def parallel_refusal(engine) -> str:
    """Why ParallelConfig refuses the sizes; empty if it does not. The executor is mp where none is given, since choosing one asks
    for devices."""
    from vllm.config import ParallelConfig

    given = {theirs: getattr(engine, theirs) for theirs in SIZES if theirs != "data_parallel_size_local"}
    given["data_parallel_size_local"] = engine.data_parallel_size_local or engine.data_parallel_size
    try:
        ParallelConfig(
            **given,
            nnodes=engine.nnodes,
            node_rank=engine.node_rank,
            distributed_executor_backend=engine.distributed_executor_backend or "mp",
        )
    except Exception as err:
        lines = [line.strip() for line in str(err).splitlines() if "further information" not in line]
        return "ParallelConfig: " + " ".join(lines)[:200]
    return ""


def tiered(extra: dict | None) -> bool:
    """Whether a connector, or a child of a MultiConnector, has secondary tiers."""
    extra = extra or {}
    children = extra.get("connectors") or []
    return bool(extra.get("secondary_tiers")) or any(tiered(c.get("kv_connector_extra_config")) for c in children)


def tiergate_reads(tiergate: str, commands: list[list[str]]) -> list[dict]:
    """What Tiergate makes of commands, or the error that it ends with, in one run for all."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, command in enumerate(commands):
            path = pathlib.Path(folder) / f"{i:06}.json"
            path.write_text(json.dumps({"engine": {"command": command}}))
            files.append(str(path))
        results: list[dict] = []
        for at in range(0, len(files), 400):
            done = subprocess.run([tiergate, "explain", "-o", "json", *files[at : at + 400]], capture_output=True, text=True)
            text = json.loads(done.stdout)
            results += text if isinstance(text, list) else [text]
    return [reading(r) for r in results]


def reading(result: dict) -> dict:
    if "facts" not in result:
        error = result.get("error") or {}
        return {"error": error.get("detail", str(result)[:200]) if isinstance(error, dict) else str(error)}
    engine, transfer = result["facts"]["engine"], result["facts"].get("transfer")
    out = {ours: engine["parallel"].get(ours) for ours in SIZES.values()}
    out.update(nnodes=engine.get("nnodes"), node_rank=engine.get("node_rank", 0), headless=engine["headless"])
    if engine["executor_given"]:
        out["executor"] = engine["executor"]
    out["unresolved"] = [u["setting"] for u in engine.get("unresolved", [])]
    out["refusals"] = [f"{r['setting']}: {r['reason']}" for r in engine.get("refusals", [])]
    for check in result["verdict"]["checks"]:  # what vLLM's configuration classes refuse, rules of Tiergate do
        if check["id"] in ("parallel.config", "offload.config", "tiering.config") and check["outcome"] == "fail":
            out["refusals"] += [v["message"] for v in check["violations"]]
    if transfer is None:
        out["unresolved"].append("engine.kv_transfer")
    elif transfer.get("connectors"):
        first = transfer["connectors"][0]
        out["connector"], out["tiered"] = first["name"] or None, transfer["tiered"]
        out["role"] = first["config"].get("kv_role") if isinstance(first["config"], dict) else None
    return out


def differences(theirs: dict, ours: dict) -> list[str]:
    """What the two read differently. What Tiergate calls unresolved is not compared: it says that it does not know."""
    if "error" in theirs or "error" in ours:
        if "error" in theirs and ("error" in ours or ours["refusals"] or ours["unresolved"]):
            return []
        if "error" in theirs:
            return [f"vLLM refuses ({theirs['error']}), Tiergate reads"]
        return [f"Tiergate refuses ({ours['error']}), vLLM reads"]
    found = [f"Tiergate refuses ({kind}), vLLM's parser and these classes do not" for kind in sorted({kind_of(r) for r in ours["refusals"]})]
    unresolved = " ".join(ours["unresolved"])
    for key in [*SIZES.values(), "nnodes", "node_rank", "headless", "executor"]:
        a, b = theirs.get(key), ours.get(key)
        if key == "data_local" and (a is None or b is None) and (a or b) in (None, 1):
            continue
        if a != b and key not in unresolved:
            found.append(f"{key}: vLLM {a!r}, Tiergate {b!r}")
    if "kv_transfer" not in unresolved and not theirs.get("offloading_size"):
        for key in ["connector", "role", "tiered"]:
            a, b = theirs.get(key), ours.get(key)
            if a != b and not (key == "tiered" and not a and not b):
                found.append(f"{key}: vLLM {a!r}, Tiergate {b!r}")
    return found


def kind_of(refusal: str) -> str:
    """A refusal without what was given."""
    return re.sub(r"\"[^\"]*\"|[0-9]+", "N", refusal)[:90]


def stored() -> list[tuple[str, list[str]]]:
    """The commands of testdata/launches that are `vllm serve` or the module it replaces, without a shell."""
    list_ = []
    for path in sorted((ROOT / "testdata/launches").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            command = (document or {}).get("engine", {}).get("command") if isinstance(document, dict) else None
            if command and not path.name.endswith(".expect.yaml"):
                list_.append((path.name, [str(word) for word in command]))
    return list_


def serve_words(command: list[str]) -> list[str] | None:
    """The words behind `vllm`; None for commands that only a shell or another launcher understands."""
    if command[:2] == ["vllm", "serve"]:
        return command[1:]
    if command[1:3] == ["-m", "vllm.entrypoints.openai.api_server"]:
        return ["serve", *command[3:]]
    if len(command) == 3 and command[0].rsplit("/", 1)[-1] in ("sh", "bash") and command[1] == "-c" and not set(command[2]) & set("$`;|&<>\n"):
        return serve_words(shlex.split(command[2]))
    return None


TRANSFER = {
    "kv_connector": "OffloadingConnector",
    "kv_role": "kv_both",
    "kv_connector_extra_config": {
        "spec_name": "TieringOffloadingSpec",
        "cpu_bytes_to_use": 1 << 30,
        "secondary_tiers": [{"type": "fs", "root_dir": "/mnt/kv"}],
    },
}


def random_command(rng: random.Random) -> list[str]:
    words = ["vllm", "serve", "m"]
    flags = [
        (["-tp", "--tensor-parallel-size", "--tensor_parallel_size", "--tensor-parallel", "--tensor"], lambda: str(rng.choice([1, 2, 4, 8, "x", 0]))),
        (["-pp", "--pipeline-parallel-size", "--pipeline_parallel_size"], lambda: str(rng.choice([1, 2, 3]))),
        (["-pcp", "--prefill-context-parallel-size"], lambda: str(rng.choice([1, 2]))),
        (["-dcp", "--decode-context-parallel-size"], lambda: str(rng.choice([1, 2]))),
        (["-dp", "--data-parallel-size", "--data_parallel_size"], lambda: str(rng.choice([1, 2, 4]))),
        (["-dpl", "--data-parallel-size-local"], lambda: str(rng.choice([1, 2]))),
        (["--nnodes", "-n"], lambda: str(rng.choice([1, 2, 4]))),
        (["--node-rank", "-r", "--node_rank"], lambda: str(rng.choice([0, 1]))),
        (["--distributed-executor-backend", "--distributed_executor_backend"], lambda: rng.choice(["mp", "ray", "uni", "external_launcher"])),
        (["--master-addr"], lambda: "gpu-a"),
        (["--max-model-len"], lambda: rng.choice(["4096", "8k", "1M"])),
        (["--served-model-name"], lambda: "name"),
    ]
    for names, value in rng.sample(flags, rng.randrange(0, 7)):
        name, text = rng.choice(names), value()
        words += [f"{name}={text}"] if name.startswith("--") and rng.random() < 0.4 else [name, text]
        if rng.random() < 0.05:
            words += [name, value()]
    for name in rng.sample(["--headless", "--enable-prefix-caching", "--no-enable-prefix-caching", "--enforce-eager"], rng.randrange(0, 2)):
        words.append(name)
    if rng.random() < 0.05:
        words.insert(rng.randrange(3, len(words) + 1), rng.choice(["--no-such-flag", "--tp", "-tp2"]))
    form = rng.randrange(6)
    flag = rng.choice(["--kv-transfer-config", "--kv_transfer_config"])
    if form == 1:
        words += [flag, json.dumps(TRANSFER)]
    elif form == 2:
        words.append(f"{flag}={json.dumps(TRANSFER)}")
    elif form == 3:
        words += [f"{flag}.kv_connector", "OffloadingConnector", f"{flag}.kv_role=kv_both"]
    elif form == 4:
        words += [f"{flag}.kv_connector_extra_config", json.dumps(TRANSFER["kv_connector_extra_config"]), f"{flag}.kv_connector"]
        words += ["OffloadingConnector", f"{flag}.kv_role", "kv_both"]
    elif form == 5:
        words += [flag, rng.choice(["{}", "{torn", "null", '{"kv_connector": "X"}', json.dumps({**TRANSFER, "kv_role": "both"})])]
    return words


# Differences that are meant, by a text that their line contains; docs/e2e-vllm.md says more.
EXPLAINED = {
    "unrecognized arguments": "only flags that decide something are read: others belong to versions and plug-ins that nobody can list",
    "expected one argument": "a flag without its value, among those whose values decide nothing",
    "Failed to import Ray": "Ray is not installed where this runs",
    "ParallelConfig: 'RANK'": "external_launcher reads the environment of torchrun, which a command does not have",
    "cpu_bytes_to_use is not set": "vLLM refuses it when the spec is made, after the model was loaded",
    "does not divide the": "AsyncEngineArgs.create_engine_config refuses it, which wants a model",
    "over which its N ranks do not divide": "as above",
    "needs N equal groups of nodes": "as above",
    "node_rank is N, with nnodes=N": "as above where nnodes > 1; with one node vLLM ignores the rank, and it is somebody's mistake",
    "prefill context parallelism excludes": "vLLM's main branch refuses it; 0.33.0's classes made here do not",
    "executor uni, which runs one worker": "the executor refuses it when it starts its only worker",
}

# Flags that Tiergate reads: vLLM must not be the only one that refuses something about them.
DECIDING = ["-tp", "-pp", "-pcp", "-dcp", "-dp", "-dpl", "-n", "-r", "--nnodes", "--node", "--distributed", "parallel", "kv", "--headless"]


def explained(line: str) -> bool:
    if "unrecognized arguments" in line or "expected one argument" in line:
        words = re.findall(r"-{1,2}[a-z][\w-]*", line.partition("arguments:")[2] or line.partition("argument ")[2])
        if any(word == flag or len(flag) > 4 and flag in word for word in words for flag in DECIDING):
            return False
    return any(text in line for text in EXPLAINED)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("tiergate")
    options.add_argument("--random", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    args = options.parse_args()
    rng = random.Random(args.seed)
    named = [(name, command) for name, command in stored() if serve_words(command)]
    named += [(f"random {i}", random_command(rng)) for i in range(args.random)]
    parser = vllm_parser()
    ours = tiergate_reads(args.tiergate, [command for _, command in named])
    unexplained: dict[str, list[str]] = {}
    refused = 0
    for (name, command), reading_ in zip(named, ours, strict=True):
        theirs = vllm_reads(parser, serve_words(command) or [])
        refused += "error" in theirs
        for line in differences(theirs, reading_):
            if not explained(line):
                unexplained.setdefault(line, []).append(f"{name}: {shlex.join(command)}")
    import vllm

    print(f"vLLM {vllm.__version__}: {len(named)} commands ({len(named) - args.random} stored), {refused} refused by vLLM, "
          f"{sum(map(len, unexplained.values()))} unexplained differences of {len(unexplained)} kinds")
    for line, examples in sorted(unexplained.items(), key=lambda item: -len(item[1])):
        print(f"{len(examples):5} {line}\n        {examples[0][:300]}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
