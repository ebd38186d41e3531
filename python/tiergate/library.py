"""The runtime inside this process."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from typing import Optional

from tiergate.errors import LibraryError

_lock = threading.Lock()
_library: Optional[ctypes.CDLL] = None
_pid = 0


def _load() -> ctypes.CDLL:
    """Loads the library once. Threads of Go's runtime do not survive a fork, so a child of this process must not call in."""
    global _library, _pid
    with _lock:
        if _library is not None:
            if _pid != os.getpid():
                raise LibraryError(
                    f"process {os.getpid()} was forked from {_pid}, which had loaded libtiergate; a forked child cannot call it: "
                    "start workers with spawn, load it after the fork, or set TIERGATE_EXEC=1"
                )
            return _library
        path = os.environ.get("TIERGATE_LIBRARY") or str(pathlib.Path(__file__).with_name("libtiergate.so"))
        try:
            library = ctypes.CDLL(path)
        except OSError as err:
            raise LibraryError(f"{path} cannot be loaded: {err}; install the package again, or set TIERGATE_EXEC=1") from err
        library.tiergate_begin.restype = ctypes.c_uint64
        library.tiergate_call.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]
        library.tiergate_call.restype = ctypes.c_void_p  # c_char_p would be copied and the original lost
        library.tiergate_cancel.argtypes = [ctypes.c_uint64]
        library.tiergate_cancel.restype = None
        library.tiergate_free.argtypes = [ctypes.c_void_p]
        library.tiergate_free.restype = None
        _library, _pid = library, os.getpid()
        return library


def run(request: bytes) -> bytes:
    """Carries out a request.

    The wait is in a thread of its own, so that Python's signal handlers run meanwhile: one that raises, such as that of SIGINT,
    cancels the call.
    """
    library = _load()
    call = library.tiergate_begin()
    answers: list[bytes] = []
    done = threading.Event()

    def wait() -> None:
        try:
            pointer = library.tiergate_call(call, request, len(request))
            if pointer:
                answers.append(ctypes.string_at(pointer))
                library.tiergate_free(pointer)
        finally:
            done.set()

    threading.Thread(target=wait, name="tiergate", daemon=True).start()
    try:
        _until(done)
    except BaseException:
        library.tiergate_cancel(call)
        _until(done)
        raise
    if not answers:
        raise MemoryError("libtiergate had no memory for its answer")
    return answers[0]


def _until(done: threading.Event) -> None:
    """Waits, and lets signal handlers run. A signal that a thread of Go took, or that came just before the wait, does not
    interrupt it; so that it is never long. Thread.join() would do neither: interrupted, it takes the thread for ended."""
    while not done.wait(0.1):
        pass
