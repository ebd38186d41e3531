"""The package against the real library and a real service. Needs bin/tiergate and bin/libtiergate.so: `make python`."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ.setdefault("TIERGATE_LIBRARY", str(ROOT / "bin" / "libtiergate.so"))
os.environ.setdefault("TIERGATE_PROGRAM", str(ROOT / "bin" / "tiergate"))
sys.path.insert(0, str(ROOT / "python"))

import tiergate  # noqa: E402
from tiergate.errors import LibraryError  # noqa: E402

TIERS = json.dumps(
    {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {
            "spec_name": "TieringOffloadingSpec",
            "cpu_bytes_to_use": 4096,
            "secondary_tiers": [{"type": "fs", "root_dir": "/kv"}],
        },
    }
)


def gate(url: str, engine: str, rank: int, deadline: float = 20, version: str = "0.33.0", transfer: str = TIERS) -> tiergate.Gate:
    return tiergate.Gate(
        url=url, engine_id=engine, rank=rank, world_size=2, groups={"tp": [0, 1]}, transfer=transfer, deadline=deadline,
        engine={"version": version, "parallel": {"tensor": 2}},
    )


class Service(unittest.TestCase):
    """A service on a socket of its own."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.TemporaryDirectory()
        cls.url = "unix://" + os.path.join(cls.dir.name, "s")
        cls.service = subprocess.Popen(
            [os.environ["TIERGATE_PROGRAM"], "serve", "--addr", cls.url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert cls.service.stdout is not None
        assert cls.service.stdout.readline().startswith(b"tiergate listens"), "the service did not start"

    @classmethod
    def tearDownClass(cls) -> None:
        cls.service.terminate()
        cls.service.wait()
        cls.service.stdout.close()
        cls.dir.cleanup()

    def together(self, *gates: tiergate.Gate) -> list:
        """What became of each gate, in threads."""
        results: list = [None] * len(gates)

        def run(i: int) -> None:
            try:
                results[i] = gates[i].register_kv(lambda: f"region {i}")
            except tiergate.TiergateError as err:
                results[i] = err

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(gates))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def test_admitted(self) -> None:
        self.assertEqual(self.together(gate(self.url, "a", 0), gate(self.url, "a", 1)), ["region 0", "region 1"])

    def test_rejected_alike(self) -> None:
        first, second = self.together(gate(self.url, "r", 0), gate(self.url, "r", 1, version="0.32.0"))
        self.assertIsInstance(first, tiergate.RejectedError)
        self.assertIsInstance(first, NotImplementedError)
        self.assertEqual(str(first), str(second))
        self.assertIn("0.32.0", str(first))
        self.assertEqual(first.details["admission"]["outcome"], "reject")

    def test_missing_rank(self) -> None:
        with self.assertRaises(tiergate.TimedOutError) as raised:
            gate(self.url, "m", 0, deadline=1).register_kv(self.fail)
        self.assertIn("rank 1", str(raised.exception))

    def test_lost_service(self) -> None:
        with self.assertRaises(tiergate.ServiceLostError):
            gate("http://127.0.0.1:1", "l", 0, deadline=1).register_kv(self.fail)

    def test_without_tiers(self) -> None:
        self.assertEqual(gate("http://127.0.0.1:1", "t", 0, transfer="{}").register_kv(lambda: "at once"), "at once")

    def test_callback_error(self) -> None:
        def fail() -> None:
            raise MemoryError("no region")

        with self.assertRaises(MemoryError):
            gate("", "", 0, transfer="{}").register_kv(fail)

    def test_interrupt(self) -> None:
        """A signal handler that raises ends the wait at once."""

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            start = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                gate(self.url, "i", 0).register_kv(self.fail)
            self.assertLess(time.monotonic() - start, 10)
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_child_process(self) -> None:
        """TIERGATE_EXEC=1 gives the same answers, without a library."""
        os.environ["TIERGATE_EXEC"] = "1"
        try:
            self.assertTrue(tiergate.needs_gate({"parallel": {"tensor": 2}}, TIERS))
            self.assertEqual(self.together(gate(self.url, "c", 0), gate(self.url, "c", 1)), ["region 0", "region 1"])
        finally:
            del os.environ["TIERGATE_EXEC"]


class Process(unittest.TestCase):
    """What loading the library does to a process, each in one of its own."""

    def python(self, script: str) -> subprocess.CompletedProcess:
        env = dict(os.environ, PYTHONPATH=str(ROOT / "python"))
        return subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60, check=False)

    def test_forked_child_may_not_call(self) -> None:
        done = self.python(
            "import os, tiergate\n"
            "tiergate.node_facts()\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    try:\n"
            "        tiergate.node_facts()\n"
            "    except Exception as err:\n"
            "        print(type(err).__name__, err, flush=True)\n"
            "    os._exit(0)\n"
            "os.waitpid(pid, 0)\n"
        )
        self.assertIn(LibraryError.__name__, done.stdout)
        self.assertIn("was forked from", done.stdout)

    def test_import_loads_nothing(self) -> None:
        done = self.python("import tiergate, tiergate.plugin\nprint('libtiergate' in open('/proc/self/maps').read())")
        self.assertEqual(done.stdout, "False\n", done.stderr)

    def test_signal_handlers_stay(self) -> None:
        done = self.python(
            "import faulthandler, os, signal, tiergate\n"
            "faulthandler.enable()\n"
            "for s in (signal.SIGTERM, signal.SIGUSR1):\n"
            "    signal.signal(s, lambda n, f: print('handled', n, flush=True))\n"
            "tiergate.node_facts()\n"
            "os.kill(os.getpid(), signal.SIGTERM)\n"
            "os.kill(os.getpid(), signal.SIGUSR1)\n"
        )
        self.assertEqual(done.stdout, f"handled {int(signal.SIGTERM)}\nhandled {int(signal.SIGUSR1)}\n", done.stderr)

    def test_faulthandler_still_tells(self) -> None:
        done = self.python("import ctypes, faulthandler, tiergate\nfaulthandler.enable()\ntiergate.node_facts()\nctypes.string_at(8)\n")
        self.assertIn("Fatal Python error: Segmentation fault", done.stderr)
        self.assertIn('File "<string>", line 4', done.stderr)
        self.assertEqual(done.returncode, -signal.SIGSEGV)


if __name__ == "__main__":
    unittest.main()
