"""The runtime in a child process."""

from __future__ import annotations

import os
import shutil
import subprocess

from tiergate.errors import LibraryError

# More than the longest deadline, so that only a child that does not keep its own is killed.
_LONGEST = 3610


def run(request: bytes) -> bytes:
    """Gives a request to `tiergate gate` and returns its answer. A child that cannot say anything is an error, never a yes."""
    program = os.environ.get("TIERGATE_PROGRAM") or shutil.which("tiergate")
    if not program:
        raise LibraryError("TIERGATE_EXEC=1, but there is no program tiergate in PATH; install it, or name it in TIERGATE_PROGRAM")
    try:
        child = subprocess.Popen([program, "gate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as err:
        raise LibraryError(f"{program} cannot be run: {err}") from err
    try:
        answer, _ = child.communicate(request, timeout=_LONGEST)
    except BaseException:
        _stop(child)
        raise
    if not answer:
        raise LibraryError(f"{program} gate gave no answer and ended with status {child.returncode}")
    return answer


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Ends a child so that it can still tell the service, and with it the ranks that wait."""
    child.terminate()
    try:
        child.wait(timeout=2)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
