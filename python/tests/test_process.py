"""What loading the library does to a process: nothing that a Python program would notice."""

import json
import signal
import unittest

import engines

MAPPED = "def mapped(): return 'libtiergate' in open('/proc/self/maps').read()\n"


def run(script, **more):
    child = engines.python(script, **more)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


class Loading(unittest.TestCase):
    def test_the_first_call_loads_it(self):
        status, out, err = run(MAPPED + "import tiergate\ntiergate.node_facts()\nprint(mapped())")
        self.assertEqual((status, out), (0, "True\n"), err)

    def test_as_a_child_it_is_never_loaded(self):
        status, out, err = run(MAPPED + "import tiergate\ntiergate.node_facts()\nprint(mapped())", TIERGATE_EXEC="1")
        self.assertEqual((status, out), (0, "False\n"), err)

    def test_a_library_that_is_not_there_is_an_error(self):
        _, out, _ = run("import tiergate\ntry: tiergate.node_facts()\nexcept tiergate.LibraryError as e: print(e)", TIERGATE_LIBRARY="/no.so")
        self.assertIn("/no.so cannot be loaded", out)


class Signals(unittest.TestCase):
    HANDLERS = """
import faulthandler, os, signal, tiergate
caught = []
def handler(number, frame): caught.append(signal.Signals(number).name)
if {before}: tiergate.node_facts()
faulthandler.enable()
signal.signal(signal.SIGTERM, handler)
signal.signal(signal.SIGUSR1, handler)
tiergate.node_facts()
for number in (signal.SIGTERM, signal.SIGUSR1):
    assert signal.getsignal(number) is handler
    os.kill(os.getpid(), number)
assert faulthandler.is_enabled()
print(caught, flush=True)
"""

    def test_handlers_stay_intact(self):
        for before in (False, True):
            with self.subTest(loaded_before_the_handlers=before):
                status, out, err = run(self.HANDLERS.format(before=before))
                self.assertEqual((status, out), (0, "['SIGTERM', 'SIGUSR1']\n"), err)

    def test_faulthandler_still_tells_of_a_segmentation_fault(self):
        for before in (False, True):
            with self.subTest(loaded_before_the_handlers=before):
                status, _, err = run(self.HANDLERS.format(before=before) + "import ctypes\nctypes.string_at(0)\n")
                self.assertEqual(status, -signal.SIGSEGV)
                self.assertIn("Fatal Python error: Segmentation fault", err)
                self.assertIn("Current thread", err)

    def test_without_a_handler_a_signal_still_ends_the_process(self):
        for number in (signal.SIGTERM, signal.SIGSEGV):
            script = f"import os, tiergate\ntiergate.node_facts()\nos.kill(os.getpid(), {int(number)})\nos._exit(0)"
            self.assertEqual(run(script)[0], -number)

    def test_a_handler_that_raises_cancels_the_call(self):
        script = """
import json, signal, sys, tiergate
def stop(number, frame): raise SystemExit(7)
signal.signal(signal.SIGTERM, stop)
tiergate.Gate(**json.loads(sys.argv[1])).register_kv(lambda: None)
"""
        service = engines.Service()
        self.addCleanup(service.close)
        for more in ({}, {"TIERGATE_EXEC": "1"}):
            with self.subTest(**more):
                child = engines.python(script, json.dumps(engines.members(service.url, 2)[0]), **more)
                engines.until_reported(child)
                child.send_signal(signal.SIGTERM)  # early: it often comes before the wait has begun
                _, err = child.communicate(timeout=15)
                self.assertEqual(child.returncode, 7, err)


if __name__ == "__main__":
    unittest.main()
