"""Times the collectives of vLLM's in_the_same_node_as over torch's gloo groups, with ranks started by hand.

The sequence is the one that vLLM runs for each group of more than one rank, TP then PP then PCP. With a Python that has vLLM its
own function is called; else the same steps are taken, as told in its documentation and threads. One process per rank, all of one
machine.

Prints one JSON object: for each grid the medians in milliseconds from the moment the last rank arrived to the moment the
last rank knows the answers, with the groups there already ("check") and made first ("create_and_check").

    ranks.py --grid 2x2x2 --grid 2x1x1 --repeat 20        # tensor x pipeline x prefill context

Exit status 3: there is no torch with gloo here.
"""

import argparse
import itertools
import json
import os
import pickle
import socket
import statistics
import sys
import time
from multiprocessing import shared_memory

try:
    import torch
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_gloo_available():
        raise ImportError("torch was built without gloo")
except (ImportError, AttributeError) as error:
    print(f"no torch with gloo: {error}", file=sys.stderr)
    sys.exit(3)

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")  # its log goes to standard output
try:
    import vllm
    from vllm.distributed.parallel_state import in_the_same_node_as
except ImportError:
    vllm = None

MAGIC = b"magic_message"


def lines(tensor, pipeline, prefill):
    """The groups of more than one rank, by kind, in the order in which they are probed."""
    rank = {
        (p, c, t): (p * prefill + c) * tensor + t
        for p, c, t in itertools.product(range(pipeline), range(prefill), range(tensor))
    }
    kinds = {"tp": (2, tensor), "pp": (0, pipeline), "pcp": (1, prefill)}
    for kind, (axis, size) in kinds.items():
        if size < 2:
            continue
        groups = {}
        for place, r in rank.items():
            rest = place[:axis] + place[axis + 1 :]
            groups.setdefault(rest, []).append((place[axis], r))
        yield kind, [[r for _, r in sorted(group)] for _, group in sorted(groups.items())]


def make_groups(grid, rank):
    """Every rank takes part in making every group, as torch demands; the rank's own are returned."""
    own = []
    for _, groups in lines(*grid):
        for ranks in groups:
            group = dist.new_group(ranks, backend="gloo")
            if rank in ranks:
                own.append((group, ranks))
    return own


def same_node(group, ranks, rank):
    """The answer of every rank of the group to: can it open what the group's first rank put into /dev/shm?"""
    seen = torch.zeros(len(ranks), dtype=torch.int32)
    segment, source = None, ranks[0]
    try:
        if rank == source:
            segment = shared_memory.SharedMemory(create=True, size=128)
            segment.buf[: len(MAGIC)] = MAGIC
            dist.broadcast_object_list([segment.name], src=source, group=group)
            seen[0] = 1
        else:
            name = [None]
            dist.broadcast_object_list(name, src=source, group=group)
            segment = attach(name[0])
            if segment.buf[: len(MAGIC)] == MAGIC:
                seen[ranks.index(rank)] = 1
    except OSError:
        pass
    finally:
        if segment is not None:
            segment.close()
    dist.barrier(group=group)
    if rank == source and segment is not None:
        segment.unlink()
    dist.all_reduce(seen, group=group)
    return [one == 1 for one in seen.tolist()]


def attach(name):
    """Attaches without handing the segment to this process's resource tracker, which would unlink it."""
    from multiprocessing import resource_tracker

    register = resource_tracker.register
    resource_tracker.register = lambda *_: None
    try:
        return shared_memory.SharedMemory(name=name)
    finally:
        resource_tracker.register = register


def check(own, rank):
    for group, ranks in own:
        if not all(in_the_same_node_as(group, source_rank=0) if vllm else same_node(group, ranks, rank)):
            raise RuntimeError("ranks of one machine are told to be on several")


def turn(grid, rank, repeat, create):
    """Start and end of each repetition on this rank. Ranks wait for each other before each, outside of the time."""
    times = []
    own = [] if create else make_groups(grid, rank)
    for _ in range(repeat + 1):  # the first one warms up
        dist.barrier()
        start = time.monotonic_ns()
        if create:
            own = make_groups(grid, rank)
        check(own, rank)
        times.append((start, time.monotonic_ns()))
        if create:
            dist.barrier()
            for group, _ in own:
                dist.destroy_process_group(group)
    return times[1:]


def rank_main(grid, rank, repeat, create_repeat, out):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://")
    result = {"check": turn(grid, rank, repeat, False), "create_and_check": turn(grid, rank, create_repeat, True)}
    with os.fdopen(out, "wb") as pipe:
        pickle.dump(result, pipe)
    dist.barrier()  # rank 0 serves the store
    os._exit(0)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def measure(grid, repeat, create_repeat):
    """Forks the ranks from this process, which has loaded torch but used nothing of it."""
    world = grid[0] * grid[1] * grid[2]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(world))
    pipes, children = [], []
    for rank in range(world):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.environ["RANK"] = str(rank)
            try:
                rank_main(grid, rank, repeat, create_repeat, write)
            except BaseException as error:  # a rank must not run on as a second launcher
                print(f"rank {rank}: {error!r}", file=sys.stderr)
            os._exit(1)
        os.close(write)
        pipes.append(read)
        children.append(child)
    results = []
    for read in pipes:
        with os.fdopen(read, "rb") as pipe:
            text = pipe.read()
            results.append(pickle.loads(text) if text else None)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    if any(statuses) or None in results:
        raise SystemExit(f"ranks ended with {statuses}")
    row = {"tensor": grid[0], "pipeline": grid[1], "prefill_context": grid[2], "ranks": world}
    for what in ("check", "create_and_check"):
        spans = [
            (max(end for _, end in once) - max(start for start, _ in once)) / 1e6
            for once in zip(*(result[what] for result in results))
        ]
        row[what + "_ms"] = round(statistics.median(spans), 3)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", action="append", required=True, metavar="TPxPPxPCP")
    parser.add_argument("--repeat", type=int, default=21, help="repetitions with groups that are there")
    parser.add_argument("--create-repeat", type=int, default=5, help="repetitions with groups made each time")
    args = parser.parse_args()
    rows = [
        measure(tuple(int(size) for size in grid.split("x")), args.repeat, args.create_repeat) for grid in args.grid
    ]
    peer = torch.__version__ + (f" with the function of vLLM {vllm.__version__}" if vllm else ", vLLM's steps without vLLM")
    print(json.dumps({"torch": peer, "python": sys.version.split()[0], "rows": rows}))


if __name__ == "__main__":
    main()
