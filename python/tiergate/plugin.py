"""Guards vLLM's own tiering spec where TIERGATE_URL is set, without a change to the engine's configuration.

vLLM calls it in each of its processes before any work, perhaps several times. It loads neither vLLM's spec nor the runtime.
"""

from __future__ import annotations

import os

from tiergate.errors import UnsupportedVersionError

_NAME = "TieringOffloadingSpec"


def register() -> None:
    """Puts the guarded spec in the place of the stock one."""
    if not os.environ.get("TIERGATE_URL"):
        return
    try:
        from vllm.v1.kv_offload.factory import OffloadingSpecFactory

        registry = OffloadingSpecFactory._registry
        registry[_NAME]  # what is there under another name would stay unguarded
    except (ImportError, AttributeError, KeyError) as err:
        raise UnsupportedVersionError(
            f"TIERGATE_URL is set, but this vLLM does not register {_NAME} as 0.33.0 does ({type(err).__name__}: {err}), so that it "
            "cannot be guarded; use a version of tiergate that knows this vLLM, or unset TIERGATE_URL"
        ) from err
    # A registered name is refused a second time, so that the entry itself is replaced; the loader is lazy as vLLM's own is.
    registry[_NAME] = _load


def _load() -> type:
    from tiergate.vllm import GuardedTieringOffloadingSpec

    return GuardedTieringOffloadingSpec
