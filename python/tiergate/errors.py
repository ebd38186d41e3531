"""What can go wrong, one exception for each error of the Go runtime."""

from __future__ import annotations

from typing import Any


class TiergateError(Exception):
    """An engine was not admitted. ``details`` is the failure as the runtime tells it; ``str()`` is for operators."""

    code = "internal"

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.details: dict[str, Any] = details or {}


class RejectedError(TiergateError, NotImplementedError):
    """The engine must not start. It is a NotImplementedError as vLLM's own rejection is (vllm 62930)."""

    code = "rejected"


class TimedOutError(TiergateError, TimeoutError):
    """Ranks were missing when the time was over; the message names them."""

    code = "timed_out"


class SupersededError(TiergateError):
    """A rank was started again while the others waited."""

    code = "superseded"


class DuplicateRankError(TiergateError):
    """Two running processes say that they are one rank."""

    code = "duplicate_rank"


class RevokedError(TiergateError):
    """A rank gave up, or somebody revoked the attempt."""

    code = "revoked"


class LateError(TiergateError):
    """The admission was made without this rank, or reached it after its deadline."""

    code = "late"


class ServiceLostError(TiergateError, ConnectionError):
    """The service could not be asked, or gave no answer, until the deadline."""

    code = "service_lost"


class UnexpectedAnswerError(TiergateError):
    """What answered is no Tiergate service, or its answer is not one for this rank."""

    code = "unexpected_answer"


class RefusedError(TiergateError):
    """The service refused the request, and would refuse it again."""

    code = "refused"


class CredentialsError(TiergateError):
    """A file of TIERGATE_TOKEN_FILE, _CA, _CERT or _KEY cannot be used, or the service's certificate is not believed."""

    code = "credentials"


class CancelledError(TiergateError):
    """The call was cancelled."""

    code = "cancelled"


class EngineEnvironmentError(TiergateError, ValueError):
    """The environment does not name the engine, or contradicts itself."""

    code = "environment"


class RequestError(TiergateError, ValueError):
    """The caller's own arguments contradict each other."""

    code = "request"


class LibraryError(TiergateError):
    """The library cannot be loaded, or must not be called in this process."""

    code = "library"


class UnsupportedVersionError(TiergateError):
    """This version of the engine does not say what the gate must know, or cannot be guarded; nothing is guessed."""

    code = "unsupported_version"


_BY_CODE: dict[str, type[TiergateError]] = {
    kind.code: kind
    for kind in (
        RejectedError,
        TimedOutError,
        SupersededError,
        DuplicateRankError,
        RevokedError,
        LateError,
        ServiceLostError,
        UnexpectedAnswerError,
        RefusedError,
        CredentialsError,
        CancelledError,
        EngineEnvironmentError,
        RequestError,
    )
}


def from_failure(failure: dict[str, Any]) -> TiergateError:
    """The exception for a failure. A code that is not known here is still an error."""
    kind = _BY_CODE.get(failure.get("code", ""), TiergateError)
    return kind(failure.get("message", "the runtime gave no reason"), failure)
