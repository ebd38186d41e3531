"""Ranks as processes of their own: the library in each, or the program as a child of each, with the same answers."""

import json
import signal
import unittest

import engines


class InProcess(unittest.TestCase):
    env: "dict[str, str]" = {}

    @classmethod
    def setUpClass(cls):
        cls.service = engines.Service()
        cls.addClassCleanup(cls.service.close)

    def start(self, specs):
        return [engines.python(engines.RANK, json.dumps(spec), **self.env) for spec in specs]

    def answers(self, specs):
        return [engines.result(rank) for rank in self.start(specs)]

    def test_all_ranks_on_one_host_start(self):
        for answer in self.answers(engines.members(self.service.url, 3)):
            self.assertEqual(answer, {"ran": True, "value": "worker"})

    def test_a_rejection_is_one_for_all_and_a_not_implemented_error(self):
        first, second = self.answers(engines.members(self.service.url, 2, tier="no-such-tier"))
        for answer in (first, second):
            self.assertFalse(answer["ran"])
            self.assertEqual(answer["error"], "RejectedError")
            self.assertIn("NotImplementedError", answer["bases"])
            self.assertIn("tiering.config", answer["message"])
        self.assertEqual(first["message"], second["message"])

    def test_a_missing_rank_is_an_error_at_the_deadline(self):
        [answer] = self.answers(engines.members(self.service.url, 2, deadline=2)[:1])
        self.assertEqual((answer["error"], answer["ran"]), ("TimedOutError", False))
        self.assertIn("rank 1", answer["message"])

    def test_a_rank_that_is_interrupted_wakes_the_others(self):
        first, second = self.start(engines.members(self.service.url, 3)[:2])
        for rank in (first, second):
            engines.until_reported(rank)
        first.send_signal(signal.SIGINT)
        self.assertEqual(engines.result(first)["error"], "KeyboardInterrupt")
        self.assertEqual(engines.result(second)["error"], "RevokedError")


class AsChild(InProcess):
    env = {"TIERGATE_EXEC": "1"}


if __name__ == "__main__":
    unittest.main()
