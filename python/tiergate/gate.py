"""The gates of workers and of the engine core."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, TypeVar

from tiergate.call import call
from tiergate.errors import TiergateError

T = TypeVar("T")


def needs_gate(engine: Mapping[str, Any], transfer: Optional[str] = None) -> bool:
    """Whether an engine must be admitted: it has more than one worker and may have secondary tiers.

    ``engine`` is the engine section of a launch document; ``transfer`` the KV transfer configuration as text, if it is not in
    there. What cannot be read counts as tiers.
    """
    answer = call(_request("needs_gate", engine, transfer))
    return bool(answer.get("needed", True))


def engine_key(name: Mapping[str, Any], environ: Optional[Mapping[str, str]] = None) -> str:
    """The engine's key from the environment of its launcher, else from ``name``, what its configuration says of it."""
    answer = call({"action": "environment", "env": _environ(environ), "name": dict(name)})
    return str(answer["engine"])


def node_facts(environ: Optional[Mapping[str, str]] = None) -> dict[str, Any]:
    """What this process can find out about where it runs."""
    facts: dict[str, Any] = call({"action": "facts", "env": _environ(environ)})["facts"]
    return facts


class Gate:
    """The gate of one worker, in front of its KV region.

    url         the service: http://host:port, https://host:port or unix:///path
    engine_id   the engine's key, the same for all its ranks
    rank        within the replica, 0 to world_size-1
    world_size  pipeline x prefill context x tensor
    groups      the groups of this rank by kind: {"tp": [0, 1], "pp": [0, 2]}, each in group order
    engine      the engine section of a launch document: version, parallel, executor, nnodes, kv_transfer
    transfer    the KV transfer configuration as text, if it is not in ``engine``
    deadline    seconds from the call to the admission
    """

    def __init__(
        self,
        *,
        url: str,
        engine_id: str,
        rank: int,
        world_size: int,
        groups: Mapping[str, Sequence[int]],
        engine: Mapping[str, Any],
        transfer: Optional[str] = None,
        data_parallel_rank: int = 0,
        deadline: float = 60.0,
        environ: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._request = _request("admit", engine, transfer)
        self._request.update(
            url=url,
            engine_id=engine_id,
            deadline_ms=round(deadline * 1000),
            env=_environ(environ),
            rank=rank,
            world_size=world_size,
            data_parallel_rank=data_parallel_rank,
            groups={kind: list(ranks) for kind, ranks in groups.items()},
        )

    def register_kv(self, callback: Callable[[], T]) -> T:
        """Runs the callback once the engine was admitted, and returns what it returns.

        Without an admission the callback does not run, and one of the exceptions of this package is raised, on every rank the
        same. Without secondary tiers, or with one worker, it runs at once; the service is then told afterwards, for those who
        look, and nothing comes of it.
        """
        if not call({**self._request, "action": "needs_gate"}).get("needed", True):
            result = callback()
            self._mention()
            return result
        call(self._request)
        return callback()

    def _mention(self) -> None:
        if not self._request["url"] or not self._request["engine_id"]:
            return
        try:
            call(self._request)
        except TiergateError:
            pass  # no answer can change anything


class CoreGate:
    """The gate of an engine core, in front of the region and the tiers. Arguments are as for Gate."""

    def __init__(
        self,
        *,
        url: str,
        engine_id: str,
        engine: Mapping[str, Any],
        transfer: Optional[str] = None,
        data_parallel_rank: int = 0,
        deadline: float = 60.0,
        environ: Optional[Mapping[str, str]] = None,
    ) -> None:
        self._request = _request("admit_core", engine, transfer)
        self._request.update(
            url=url,
            engine_id=engine_id,
            deadline_ms=round(deadline * 1000),
            env=_environ(environ),
            data_parallel_rank=data_parallel_rank,
        )

    def admit(self) -> None:
        """Returns if the core's workers were admitted and the core shares memory with rank 0; raises otherwise."""
        call(self._request)


def _request(action: str, engine: Mapping[str, Any], transfer: Optional[str]) -> dict[str, Any]:
    request: dict[str, Any] = {"action": action, "engine": dict(engine)}
    if transfer is not None:
        request["transfer"] = transfer
    return request


def _environ(environ: Optional[Mapping[str, str]]) -> list[str]:
    return [f"{name}={value}" for name, value in (os.environ if environ is None else environ).items()]
