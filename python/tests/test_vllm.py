"""The guarded spec over stand-ins for the few parts of vLLM that it reads, in the shapes of several versions.

Real vLLM is tried by e2e/vllm.
"""

import importlib
import sys
import types
import unittest
import uuid
from unittest import mock

import engines

import tiergate
from tiergate import plugin

SPEC = "vllm.v1.kv_offload.tiering.spec"
FACTORY = "vllm.v1.kv_offload.factory"


class Spec:
    """TieringOffloadingSpec of 0.33.0, as far as the guard sees it."""

    def __init__(self, config):
        self.config = config
        self._manager = None

    def create_worker(self, kv_caches):
        return ("worker", kv_caches)

    def get_manager(self):
        self._manager = "manager"
        return self._manager

    @classmethod
    def build_metric_definitions(cls, extra_config):
        return {"metrics": extra_config}


def modules(spec=Spec, current=None, group=None, version="0.33.0"):
    """sys.modules of a process with vLLM. Group is what parallel_state has for every kind; None is none made yet."""

    def get():
        assert group is not None, "not initialized"
        return types.SimpleNamespace(ranks=group)

    factory = type("OffloadingSpecFactory", (), {"_registry": {"TieringOffloadingSpec": lambda: spec, "CPUOffloadingSpec": None}})
    parallel_state = dict.fromkeys(("get_tp_group", "get_pp_group", "get_pcp_group"), get)
    contents = {
        "vllm": {"__version__": version, "__path__": []},
        "vllm.config": {"get_current_vllm_config_or_none": lambda: current},
        "vllm.distributed": {"parallel_state": types.SimpleNamespace(**parallel_state)},
        "vllm.v1": {"__path__": []},
        "vllm.v1.kv_offload": {"__path__": []},
        "vllm.v1.kv_offload.tiering": {"__path__": []},
        SPEC: {"TieringOffloadingSpec": spec},
        FACTORY: {"OffloadingSpecFactory": factory},
    }
    made = {}
    for name, attributes in contents.items():
        made[name] = types.ModuleType(name)
        made[name].__dict__.update(attributes)
    return made


def config(rank=0, tp=2, pp=1, tiers=True, index=0, replicas=1, engine_id="uuid"):
    """OffloadingConfig of 0.33.0."""
    parallel = types.SimpleNamespace(
        rank=rank, world_size=tp * pp, tp_size=tp, pp_size=pp, pcp_size=1, dcp_size=1, data_parallel_index=index, data_parallel_size=replicas
    )
    extra = {"cpu_bytes_to_use": 1 << 20, "secondary_tiers": [{"type": "fs", "root_dir": "/tmp/kv"}] if tiers else []}
    return types.SimpleNamespace(parallel=parallel, extra_config=extra, engine_id=engine_id)


def whole(**parallel):
    """VllmConfig."""
    return types.SimpleNamespace(parallel_config=types.SimpleNamespace(**{"distributed_executor_backend": "mp", "nnodes": 1, **parallel}))


class Stand(unittest.TestCase):
    def load(self, env=(), **versions):
        """tiergate.vllm, imported over a vLLM."""
        kept = {name: module for name, module in sys.modules.items() if not name.startswith(("vllm", "tiergate.vllm"))}
        patch = mock.patch.dict(sys.modules, {**kept, **modules(**versions)}, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        environ = {k: v for k, v in engines.environment().items() if k != "PYTHONPATH"}
        patch = mock.patch.dict("os.environ", {**environ, **dict(env)}, clear=True)
        patch.start()
        self.addCleanup(patch.stop)
        return importlib.import_module("tiergate.vllm")

    def engine(self, spec_config, current=None, env=()):
        """What the guard says of an engine."""
        guard = self.load({"TIERGATE_URL": "http://127.0.0.1:9", **dict(env)})
        return guard._engine(guard.Layout(spec_config, current))


class Admission(Stand):
    def setUp(self):
        self.service = engines.Service()
        self.addCleanup(self.service.close)
        self.env = {"TIERGATE_URL": self.service.url, "TIERGATE_ENGINE_ID": f"vllm-{uuid.uuid4()}", "TIERGATE_DEADLINE": "10s"}

    def both(self, guard, kv_caches="caches"):
        import threading

        ended = {}

        def rank(number):
            try:
                ended[number] = guard.GuardedTieringOffloadingSpec(config(rank=number)).create_worker(kv_caches)
            except Exception as err:
                ended[number] = err

        threads = [threading.Thread(target=rank, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return ended

    def test_workers_and_core_are_admitted(self):
        guard = self.load(self.env)
        self.assertEqual(self.both(guard), {0: ("worker", "caches"), 1: ("worker", "caches")})
        core = guard.GuardedTieringOffloadingSpec(config())
        self.assertEqual(core.get_manager(), "manager")
        with mock.patch.dict("os.environ", {"TIERGATE_URL": "http://127.0.0.1:9"}):
            self.assertEqual(core.get_manager(), "manager")  # a second time nothing is asked

    def test_a_core_whose_workers_were_not_admitted_does_not_start(self):
        guard = self.load({**self.env, "TIERGATE_DEADLINE": "1s"})
        core = guard.GuardedTieringOffloadingSpec(config())
        with self.assertRaises(tiergate.TiergateError):
            core.get_manager()
        self.assertIsNone(core._manager)

    def test_a_version_with_a_check_of_its_own_still_has_it(self):
        class Checking(Spec):  # vllm 62930
            def create_worker(self, kv_caches):
                raise NotImplementedError("vLLM's own")

        for ended in self.both(self.load(self.env, spec=Checking)).values():
            self.assertIs(type(ended), NotImplementedError)
            self.assertEqual(str(ended), "vLLM's own")


class Ungated(Stand):
    """Engines without secondary tiers, or with one worker, start whatever is missing."""

    def test_without_a_service_a_name_or_a_library(self):
        for env in ({}, {"TIERGATE_URL": "http://127.0.0.1:9"}, {"TIERGATE_EXEC": "1", "TIERGATE_PROGRAM": "/nowhere"}):
            for of in (config(tiers=False), config(tp=1)):
                guard = self.load(env)
                spec = guard.GuardedTieringOffloadingSpec(of)
                self.assertEqual(spec.create_worker("caches"), ("worker", "caches"))
                self.assertEqual(spec.get_manager(), "manager")

    def test_with_tiers_the_same_is_an_error(self):
        for env in ({}, {"TIERGATE_URL": "http://127.0.0.1:9"}):
            spec = self.load(env).GuardedTieringOffloadingSpec(config())
            for hook in (lambda: spec.create_worker(None), spec.get_manager):
                with self.assertRaises(tiergate.EngineEnvironmentError):
                    hook()

    def test_metrics_need_no_gate(self):
        guard = self.load()
        self.assertEqual(guard.GuardedTieringOffloadingSpec.build_metric_definitions({"a": 1}), {"metrics": {"a": 1}})


class Versions(Stand):
    def test_a_spec_without_the_hooks_is_refused_when_it_is_loaded(self):
        for hook in ("create_worker", "get_manager"):
            other = type("TieringOffloadingSpec", (), {name: f for name, f in vars(Spec).items() if name not in (hook, "__dict__", "__weakref__")})
            with self.assertRaisesRegex(tiergate.UnsupportedVersionError, f"vLLM 0.22.0.*no {hook}.*0.33.0"):
                self.load(spec=other, version="0.22.0")

    def test_a_configuration_of_another_shape_is_refused(self):
        strange = config()
        del strange.parallel.pcp_size
        guard = self.load({"TIERGATE_URL": "http://127.0.0.1:9"}, version="0.40.0")
        for of in (strange, types.SimpleNamespace(), None):
            with self.assertRaisesRegex(tiergate.UnsupportedVersionError, "vLLM 0.40.0 does not tell"):
                guard.GuardedTieringOffloadingSpec(of).create_worker(None)

    def test_a_world_that_is_no_grid_is_refused(self):
        odd = config()
        odd.parallel.world_size = 3
        guard = self.load({"TIERGATE_URL": "http://127.0.0.1:9"})
        with self.assertRaisesRegex(tiergate.UnsupportedVersionError, "counts 3 workers"):
            guard.GuardedTieringOffloadingSpec(odd).create_worker(None)

    def test_groups_are_those_that_vllm_made(self):
        guard = self.load()
        self.assertEqual(guard.Layout(config(rank=3, tp=2, pp=2)).groups(), {"tp": [2, 3], "pp": [1, 3], "pcp": [3]})
        guard = self.load(group=[0, 2])
        with self.assertRaisesRegex(tiergate.UnsupportedVersionError, r"put rank 0 into tp group \[0, 2\]"):
            guard.Layout(config(tp=4)).groups()

    def test_ranks_are_those_within_the_replica(self):
        guard = self.load(group=[5])
        self.assertEqual(guard._made("tp", 4), [1])


class Names(Stand):
    def test_a_launchers_name_comes_first(self):
        said = self.engine(config(), whole(nnodes=2, master_addr="h", master_port=1), {"TIERGATE_ENGINE_ID": "chat"})
        self.assertEqual((said["engine_id"], said["data_parallel_rank"]), ("chat", 0))

    def test_several_nodes_are_named_by_the_master(self):
        said = self.engine(config(), whole(nnodes=2, master_addr="10.0.0.7", master_port=29501))
        self.assertEqual(said["engine_id"], "10.0.0.7:29501")
        self.assertEqual((said["engine"]["nnodes"], said["engine"]["executor"]), (2, "mp"))

    def test_ray_and_one_node_by_the_id_that_the_workers_inherit(self):
        said = self.engine(config(engine_id="uuid_dp1", index=1, replicas=2), whole(distributed_executor_backend="ray"))
        self.assertEqual((said["engine_id"], said["data_parallel_rank"], said["engine"]["parallel"]["data"]), ("uuid", 1, 2))

    def test_each_process_of_an_external_launcher_makes_up_its_own_id(self):
        with self.assertRaisesRegex(tiergate.EngineEnvironmentError, "TIERGATE_ENGINE_ID"):
            self.engine(config(), whole(distributed_executor_backend="external_launcher"))

    def test_replicas_of_a_dense_model_are_engines_of_their_own(self):
        names = set()
        for index in range(3):
            said = self.engine(config(index=index), None, {"TIERGATE_ENGINE_ID": "chat"})
            self.assertEqual(said["data_parallel_rank"], 0)
            names.add(said["engine_id"])
        self.assertEqual(names, {"chat", "chat.dp1", "chat.dp2"})

    def test_an_executor_of_the_users_is_left_out(self):
        said = self.engine(config(), whole(distributed_executor_backend=object), {"TIERGATE_ENGINE_ID": "chat"})
        self.assertNotIn("executor", said["engine"])

    def test_the_core_takes_the_configuration_from_the_connector(self):
        guard = self.load()

        def connector(vllm_config):
            return guard.GuardedTieringOffloadingSpec(config())

        mine = whole()
        self.assertIs(connector(mine)._tiergate_vllm_config, mine)
        self.assertIsNone(guard.GuardedTieringOffloadingSpec(config())._tiergate_vllm_config)

    def test_workers_take_the_current_one(self):
        mine = whole()
        self.assertIs(self.load(current=mine).GuardedTieringOffloadingSpec(config())._tiergate_vllm_config, mine)

    def test_deadlines(self):
        guard = self.load()
        self.assertEqual([guard._deadline(text) for text in ("", "90", "90s", "2m")], [60.0, 90.0, 90.0, 120.0])
        with self.assertRaises(tiergate.EngineEnvironmentError):
            guard._deadline("soon")


class Plugin(Stand):
    def registry(self):
        return sys.modules[FACTORY].OffloadingSpecFactory._registry

    def test_without_a_service_nothing_changes(self):
        self.load()
        plugin.register()
        self.assertIs(self.registry()["TieringOffloadingSpec"](), Spec)

    def test_it_may_run_again_and_imports_the_spec_late(self):
        self.load({"TIERGATE_URL": "http://127.0.0.1:9"})
        del sys.modules["tiergate.vllm"]
        plugin.register()
        plugin.register()
        self.assertNotIn("tiergate.vllm", sys.modules)
        guarded = self.registry()["TieringOffloadingSpec"]()
        self.assertEqual(guarded.__name__, "GuardedTieringOffloadingSpec")
        self.assertTrue(issubclass(guarded, Spec))

    def test_a_factory_of_another_shape_is_refused(self):
        self.load({"TIERGATE_URL": "http://127.0.0.1:9"})
        del self.registry()["TieringOffloadingSpec"]
        with self.assertRaisesRegex(tiergate.UnsupportedVersionError, "does not register TieringOffloadingSpec"):
            plugin.register()
        sys.modules[FACTORY] = None  # as a module that is not there
        with self.assertRaises(tiergate.UnsupportedVersionError):
            plugin.register()


if __name__ == "__main__":
    unittest.main()
