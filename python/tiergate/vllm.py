"""vLLM's TieringOffloadingSpec behind the gate.

By name, in the KV transfer configuration::

    "spec_name": "GuardedTieringOffloadingSpec", "spec_module_path": "tiergate.vllm"

or, with TIERGATE_URL set, in the place of the stock spec by the plugin. A worker passes the gate in create_worker(), before its
region exists; the engine core in get_manager(), before it opens the region or a tier (vllm 54415, 62930).
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import vllm
from vllm.v1.kv_offload.tiering.spec import TieringOffloadingSpec

from tiergate.errors import EngineEnvironmentError, TiergateError, UnsupportedVersionError
from tiergate.gate import CoreGate, Gate, engine_key

DEADLINE = 60.0
"""Seconds that a registration may take, unless TIERGATE_DEADLINE says otherwise."""

_STOCK = "TieringOffloadingSpec"
_SIZES = {"tensor": "tp_size", "pipeline": "pp_size", "prefill_context": "pcp_size", "decode_context": "dcp_size"}


for _hook in ("create_worker", "get_manager"):
    # Without its hook the guard would be passed by, and nobody would notice.
    if not callable(getattr(TieringOffloadingSpec, _hook, None)):
        raise UnsupportedVersionError(
            f"vLLM {vllm.__version__}: TieringOffloadingSpec has no {_hook}() as 0.33.0 has, so that it cannot be guarded; "
            "use a version of tiergate that knows this vLLM, or remove secondary_tiers"
        )


class GuardedTieringOffloadingSpec(TieringOffloadingSpec):  # type: ignore[misc]
    """TieringOffloadingSpec whose regions exist only in engines that were admitted."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tiergate_vllm_config = _vllm_config()

    def create_worker(self, kv_caches: Any) -> Any:
        def allocate() -> Any:
            return super(GuardedTieringOffloadingSpec, self).create_worker(kv_caches)

        config = getattr(self, "config", None)
        try:
            layout = Layout(config, self._tiergate_vllm_config)
            gate = Gate(rank=layout.rank, world_size=layout.world, groups=layout.groups(), **_engine(layout))
        except TiergateError:
            if _harmless(config):
                return allocate()
            raise
        return gate.register_kv(allocate)

    def get_manager(self) -> Any:
        config = getattr(self, "config", None)
        if not getattr(self, "_manager", None) and not _harmless(config):
            CoreGate(**_engine(Layout(config, self._tiergate_vllm_config))).admit()
        return super().get_manager()


def _harmless(config: Any) -> bool:
    """Whether an engine needs no gate, so that nothing that is missing may keep it from starting: it has no secondary tiers, or one
    worker. What cannot be read is not harmless."""
    try:
        return not config.extra_config.get("secondary_tiers") or int(config.parallel.world_size) == 1
    except (AttributeError, TypeError, ValueError):
        return False


class Layout:
    """The grid of a replica, as vLLM's OffloadingConfig tells it, and what its whole configuration says beyond, if it could be
    had. Ranks are those within the replica."""

    def __init__(self, config: Any, whole: Any = None) -> None:
        self.parallel = getattr(whole, "parallel_config", None)
        try:
            parallel = config.parallel
            self.sizes = {name: int(getattr(parallel, attribute)) for name, attribute in _SIZES.items()}
            self.rank = int(parallel.rank)
            self.world = int(parallel.world_size)
            self.replica = int(parallel.data_parallel_index)
            self.replicas = int(parallel.data_parallel_size)
            self.extra: dict[str, Any] = dict(config.extra_config)
            self.engine_id = str(config.engine_id)
        except (AttributeError, TypeError, ValueError) as err:
            raise UnsupportedVersionError(
                f"vLLM {vllm.__version__} does not tell a tiering spec its place in the engine as 0.33.0 does ({err}); "
                "use a version of tiergate that knows it, or remove secondary_tiers"
            ) from err
        tensor, prefill = self.sizes["tensor"], self.sizes["prefill_context"]
        if self.world != tensor * prefill * self.sizes["pipeline"]:
            raise UnsupportedVersionError(
                f"vLLM {vllm.__version__} counts {self.world} workers for sizes {self.sizes}; the gate does not know this layout"
            )

    def groups(self) -> dict[str, list[int]]:
        """The TP, PP and PCP group of the rank: its lines of the grid, which must be those that vLLM made."""
        tensor, prefill, pipeline = self.sizes["tensor"], self.sizes["prefill_context"], self.sizes["pipeline"]
        t, c, p = self.rank % tensor, self.rank // tensor % prefill, self.rank // (tensor * prefill)

        def at(stage: int, slice_: int, column: int) -> int:
            return (stage * prefill + slice_) * tensor + column

        groups = {
            "tp": [at(p, c, i) for i in range(tensor)],
            "pp": [at(i, c, t) for i in range(pipeline)],
            "pcp": [at(p, i, t) for i in range(prefill)],
        }
        for kind, ranks in groups.items():
            made = _made(kind, self.world)
            if made is not None and made != ranks:
                raise UnsupportedVersionError(
                    f"vLLM {vllm.__version__} put rank {self.rank} into {kind} group {made}, by its sizes it is in {ranks}"
                )
        return groups


def _made(kind: str, world: int) -> list[int] | None:
    """The group that vLLM made, with ranks within the replica; None in a process without groups, such as the engine core."""
    from vllm.distributed import parallel_state

    try:
        group = getattr(parallel_state, f"get_{kind}_group")()
    except (AssertionError, AttributeError):
        return None
    return [rank % world for rank in group.ranks]  # a replica's ranks are consecutive and begin at a multiple of its size


def _engine(layout: Layout) -> dict[str, Any]:
    """What worker and core say of their engine; equal for all of them."""
    environ = dict(os.environ)
    url = environ.get("TIERGATE_URL", "")
    if not url:
        raise EngineEnvironmentError(
            "TIERGATE_URL is not set: it must name the service that all workers of the engine reach, e.g. http://10.0.0.7:8642"
        )
    engine: dict[str, Any] = {"version": vllm.__version__, "parallel": {**layout.sizes, "data": layout.replicas}}
    executor = getattr(layout.parallel, "distributed_executor_backend", None)
    if executor in ("mp", "ray", "uni", "external_launcher"):  # it may also be a class of the user's
        engine["executor"] = executor
    if layout.parallel is not None:
        engine["nnodes"] = int(getattr(layout.parallel, "nnodes", 1))
    key, replica = engine_key(_name(layout), environ), layout.replica
    if layout.replicas == 1 and replica > 0:
        # vLLM tells the replicas of a dense model that each is alone; only the index is left of where they come from.
        key, replica = f"{key}.dp{replica}", 0
    return {
        "url": url,
        "engine_id": key,
        "engine": engine,
        "transfer": _transfer(layout.extra),
        "data_parallel_rank": replica,
        "deadline": _deadline(environ.get("TIERGATE_DEADLINE", "")),
    }


def _transfer(extra: dict[str, Any]) -> str:
    """The transfer configuration as the rules know it: of this connector and of the spec that this one stands for."""
    stock = {key: value for key, value in extra.items() if key != "spec_module_path"}
    stock["spec_name"] = _STOCK
    return json.dumps(
        {"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": stock}, sort_keys=True, default=str
    )


def _name(layout: Layout) -> dict[str, Any]:
    """What names the engine where no launcher does. vLLM's own id will do where one process gave it to all workers: not with
    further nodes of the executor mp, nor with external_launcher, where each process makes up one of its own."""
    parallel = layout.parallel
    if parallel is None or getattr(parallel, "distributed_executor_backend", None) == "external_launcher":
        return {}
    if getattr(parallel, "nnodes", 1) > 1:
        return {"MasterAddr": str(parallel.master_addr), "MasterPort": int(parallel.master_port)}
    return {"Driver": layout.engine_id.removesuffix(f"_dp{layout.replica}")}


def _vllm_config() -> Any:
    """vLLM's whole configuration, or None. A spec is given an extract, without the executor and the master's address.

    Workers have it in a context; the engine core does not enter one, so that there it is taken from the connector that is making
    the spec.
    """
    try:
        from vllm.config import get_current_vllm_config_or_none
    except ImportError:
        pass
    else:
        current = get_current_vllm_config_or_none()
        if current is not None:
            return current
    frame = sys._getframe(1)
    while frame is not None:
        found = frame.f_locals.get("vllm_config")
        if hasattr(found, "parallel_config"):
            return found
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _deadline(text: str) -> float:
    """TIERGATE_DEADLINE in seconds, or as 90s or 2m."""
    if not text:
        return DEADLINE
    number, unit = (text[:-1], text[-1]) if text[-1] in "sm" else (text, "s")
    try:
        return float(number) * (60.0 if unit == "m" else 1.0)
    except ValueError:
        raise EngineEnvironmentError(f"TIERGATE_DEADLINE is {text!r}; allowed are seconds, such as 60 or 60s, or minutes, such as 2m") from None
