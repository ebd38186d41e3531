"""Carries requests to the runtime: in this process through the library, or in a child process."""

from __future__ import annotations

import json
import os
from typing import Any

from tiergate.errors import UnexpectedAnswerError, from_failure


def call(request: dict[str, Any]) -> dict[str, Any]:
    """Carries out a request and returns the answer, or raises what it failed with.

    With TIERGATE_EXEC=1 the request goes to the tiergate program as a child, for processes in which no Go runtime may be
    loaded; the child has the same /dev/shm and user.
    """
    if os.environ.get("TIERGATE_EXEC") == "1":
        from tiergate.child import run
    else:
        from tiergate.library import run
    answer = json.loads(run(json.dumps(request).encode()))
    if not isinstance(answer, dict):
        raise UnexpectedAnswerError(f"the runtime answered {answer!r}")
    if "error" in answer:
        raise from_failure(answer["error"])
    return answer
