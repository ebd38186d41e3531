"""Guards vLLM's own tiering spec where TIERGATE_URL is set, without a change to the engine's configuration.

vLLM calls it in each of its processes before any work, perhaps several times. It loads neither vLLM's spec nor the runtime.
"""

from __future__ import annotations

import os

_NAME = "TieringOffloadingSpec"


def register() -> None:
    """Puts the guarded spec in the place of the stock one."""
    if not os.environ.get("TIERGATE_URL"):
        return
    from vllm.v1.kv_offload.factory import OffloadingSpecFactory

    # A registered name is refused a second time, so that the entry itself is replaced; the loader is lazy as vLLM's own is.
    OffloadingSpecFactory._registry[_NAME] = _load


def _load() -> type:
    from tiergate.vllm import GuardedTieringOffloadingSpec

    return GuardedTieringOffloadingSpec
