"""The exceptions mirror the failures of the runtime."""

import re
import unittest

import engines

import tiergate
from tiergate import errors


class Codes(unittest.TestCase):
    def test_every_failure_of_the_runtime_has_an_exception(self):
        source = (engines.ROOT / "internal" / "bridge" / "failure.go").read_text()
        codes = set(re.findall(r'^\tCode\w+\s*= "(\w+)"', source, re.M))
        self.assertIn("rejected", codes)
        self.assertEqual(set(errors._BY_CODE), codes - {"internal"})

    def test_an_unknown_failure_is_still_an_error(self):
        err = errors.from_failure({"code": "from_the_future", "message": "no"})
        self.assertIs(type(err), tiergate.TiergateError)
        self.assertEqual(str(err), "no")

    def test_a_failure_without_a_reason_is_still_an_error(self):
        self.assertIsInstance(errors.from_failure({}), tiergate.TiergateError)

    def test_what_catches_vllms_rejection_catches_ours(self):
        self.assertTrue(issubclass(tiergate.RejectedError, NotImplementedError))


if __name__ == "__main__":
    unittest.main()
