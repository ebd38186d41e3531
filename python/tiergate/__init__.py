"""The gate of a starting inference engine.

Secondary KV tiers read one node's shared memory. Before a worker allocates its KV region, every rank of its engine proves that
it shares that memory, or none of them starts::

    gate = tiergate.Gate(url="http://gpu-a:8642", engine_id="chat", rank=0, world_size=2, groups={"tp": [0, 1]}, engine=...)
    worker = gate.register_kv(lambda: allocate_and_register())

Importing this package loads nothing; the library is loaded by the first call, in the process that makes it.
"""

from tiergate.errors import (
    CancelledError,
    CredentialsError,
    DuplicateRankError,
    EngineEnvironmentError,
    LateError,
    LibraryError,
    RefusedError,
    RejectedError,
    RequestError,
    RevokedError,
    ServiceLostError,
    SupersededError,
    TiergateError,
    TimedOutError,
    UnexpectedAnswerError,
    UnsupportedVersionError,
)
from tiergate.gate import CoreGate, Gate, needs_gate, node_facts

__all__ = [
    "CancelledError",
    "CoreGate",
    "CredentialsError",
    "DuplicateRankError",
    "EngineEnvironmentError",
    "Gate",
    "LateError",
    "LibraryError",
    "RefusedError",
    "RejectedError",
    "RequestError",
    "RevokedError",
    "ServiceLostError",
    "SupersededError",
    "TiergateError",
    "TimedOutError",
    "UnexpectedAnswerError",
    "UnsupportedVersionError",
    "needs_gate",
    "node_facts",
]
