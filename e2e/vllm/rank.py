"""One rank of an engine as vLLM itself would make it, up to the allocation of its KV region; or the engine core.

Real are vLLM's process groups (gloo), its spec factory, the tiering spec, the shared region and the tiers; only the GPU side of
the worker is left out. What became of it is one JSON object on standard output.
"""

import glob
import json
import os
import subprocess
import threading

from tiergate import plugin
from tiergate.errors import TiergateError


def main() -> None:
    spec = json.loads(os.environ["RANK_SPEC"])
    vllm_config = configuration(spec)  # under vLLM's own name for it: the guard of the core finds it as in vLLM's connector
    result = {"rank": spec["rank"]}
    if spec["rank"] != "core":
        result["own"] = join(spec)

    from vllm.config import set_current_vllm_config
    from vllm.v1.kv_offload.tiering import spec as tiering

    tiering.CPUOffloadingWorker = lambda **kwargs: kwargs["mmap_region"]  # views and pinning are the GPU's
    plugin.register()
    try:
        if spec["rank"] == "core":
            created = create(spec)
            result["spec"] = type(created).__name__
            created.get_manager().shutdown()
        else:
            with set_current_vllm_config(vllm_config):  # as vLLM's WorkerWrapperBase.initialize_from_config
                created = create(spec)
                result["spec"] = type(created).__name__
                created.create_worker(None)
        result["started"] = True
    except TiergateError as err:
        result |= {"error": type(err).__name__, "not_implemented": isinstance(err, NotImplementedError), "message": str(err)}
    result["regions"] = len(glob.glob(f"/dev/shm/vllm_offload_{spec['engine']}*"))
    print(json.dumps(result), flush=True)


def configuration(spec: dict):
    """vLLM's configuration of the engine, as far as it can be had without a model."""
    from vllm.config import DeviceConfig, ParallelConfig, VllmConfig

    parallel = ParallelConfig(
        tensor_parallel_size=spec["tensor"], pipeline_parallel_size=spec["pipeline"], distributed_executor_backend="mp",
        nnodes=spec["nnodes"], master_addr=spec["address"], master_port=spec["port"],
    )
    return VllmConfig(device_config=DeviceConfig(device="cpu"), parallel_config=parallel)


PATIENCE = 30
"""How long vLLM's own check is waited for, in seconds; it has no deadline but gloo's, half an hour."""


def join(spec: dict) -> bool | None:
    """Makes vLLM's groups and runs the check that vLLM #62930 makes, with vLLM's own function: on this rank's groups, all of
    them. None is a check that does not end."""
    import torch.distributed
    from vllm.config import DeviceConfig, VllmConfig, set_current_vllm_config
    from vllm.distributed import parallel_state

    with set_current_vllm_config(VllmConfig(device_config=DeviceConfig(device="cpu"))):
        parallel_state.init_distributed_environment(
            world_size=spec["tensor"] * spec["pipeline"], rank=spec["rank"], distributed_init_method=spec["init"],
            local_rank=spec["rank"], backend="gloo",
        )
        parallel_state.initialize_model_parallel(spec["tensor"], spec["pipeline"], backend="gloo")
    groups = (parallel_state.get_tp_group(), parallel_state.get_pp_group(), parallel_state.get_pcp_group())
    if spec["full"]:  # now, since vLLM's groups make segments of their own
        if spec["rank"] == 0:
            room = os.statvfs("/dev/shm")
            subprocess.run(["mount", "-o", f"remount,nr_inodes={room.f_files - room.f_ffree}", "/dev/shm"], check=True)
        torch.distributed.barrier()
    same: list[bool] = []

    def ask() -> None:
        same.append(all(
            all(parallel_state.in_the_same_node_as(g.cpu_group, source_rank=0)) for g in groups if g.world_size > 1
        ))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(PATIENCE)
    return same[0] if same else None


def create(spec: dict):
    """The offloading spec, as vLLM's connector has its factory make it."""
    from vllm.v1.kv_offload import config as offload
    from vllm.v1.kv_offload.factory import OffloadingSpecFactory

    return OffloadingSpecFactory.create_spec(
        offload.OffloadingConfig(
            groups=(offload.OffloadingGroupConfig(tokens_per_block=16, layer_names=("l",), group_id=0),),
            worker_kv_bytes_per_block=4096,
            enable_kv_cache_events=False,
            extra_config=spec["extra"],
            engine_id=spec["engine"],
            model=offload.OffloadingModelConfig(name="m", dtype="float16"),
            cache=offload.OffloadingCacheConfig(tokens_per_hash=16, blocks_per_chunk=1),
            parallel=offload.OffloadingParallelConfig(
                rank=0 if spec["rank"] == "core" else spec["rank"], world_size=spec["tensor"] * spec["pipeline"],
                tp_size=spec["tensor"], pp_size=spec["pipeline"], pcp_size=1, dcp_size=1, data_parallel_index=0,
                data_parallel_size=1, data_parallel_rank_local=None, is_parallelism_agnostic=False,
            ),
        )
    )


main()
os._exit(0)  # gloo's own farewell waits for ranks that have gone
