"""The simulator of benchmarks/scale.py against what is known of queues, and against the real three shards."""

import importlib.util
import json
import math
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
SPEC = importlib.util.spec_from_file_location("scale", ROOT / "benchmarks/scale.py")
scale = importlib.util.module_from_spec(SPEC)
sys.dont_write_bytecode = True
SPEC.loader.exec_module(scale)

DEMANDS = {"server": 0.004, "coordinator": 0.002, "shard": 0.003}


def cluster(cores=1, shards=3, replicas=1):
    some = lambda count: [scale.Host(cores) for _ in range(count)]
    return scale.Cluster(some(1), some(1), [some(replicas) for _ in range(shards)])


class Queues(unittest.TestCase):
    def one_station(self, variation, load):
        """The mean time at one host that gets tasks of 10 ms at random."""
        simulation = scale.Simulation(cluster(), DEMANDS, variation=variation, round_trip=0.0)
        host, when, times = scale.Host(1), 0.0, []
        note = lambda now, begun: times.append(now - begun)
        while len(simulation.events) < 60_000:
            when += simulation.random.expovariate(load / 0.01)
            simulation.at(when, lambda t: simulation.visit(t, [[([host], 0.01)]], t, note))
        simulation.run(when)
        self.assertAlmostEqual(host.busy / when, load, delta=0.02)
        return sum(times) / len(times)

    def test_exponential_times_wait_as_the_formula_of_mm1_says(self):
        for load in (0.3, 0.6, 0.8):
            wanted = 0.01 / (1 - load)
            self.assertAlmostEqual(self.one_station(1.0, load) / wanted, 1.0, delta=0.08)

    def test_other_times_wait_as_pollaczek_and_khinchine_say(self):
        for variation in (0.0, 0.5):
            wanted = 0.01 * (1 + 0.7 / (1 - 0.7) * (1 + variation**2) / 2)
            self.assertAlmostEqual(self.one_station(variation, 0.7) / wanted, 1.0, delta=0.08)


class Searches(unittest.TestCase):
    def test_one_client_waits_for_every_stage_once(self):
        said = scale.Simulation(cluster(), DEMANDS, variation=0.0, round_trip=0.001).closed_loop(1, 5.0).summary()
        self.assertAlmostEqual(said["p50_ms"], 4 + 2 + 3 + 6 * 1, places=6)
        self.assertEqual(said["failed"], 0)

    def test_no_more_are_answered_than_the_busiest_host_can(self):
        said = scale.Simulation(cluster(), DEMANDS, round_trip=0.0).closed_loop(40, 20.0).summary()
        self.assertLessEqual(said["per_second"], 1 / 0.004 * 1.02)
        self.assertGreater(said["per_second"], 1 / 0.004 * 0.97)

    def test_shards_are_asked_at_once(self):
        few = scale.Simulation(cluster(shards=2), DEMANDS, variation=0.0).closed_loop(1, 2.0).summary()
        many = scale.Simulation(cluster(shards=50), DEMANDS, variation=0.0).closed_loop(1, 2.0).summary()
        self.assertAlmostEqual(few["p50_ms"], many["p50_ms"], places=6)
        slowest = scale.Simulation(cluster(shards=50), DEMANDS, variation=0.5).closed_loop(1, 2.0).summary()
        self.assertGreater(slowest["p50_ms"], few["p50_ms"] * 1.2)

    def test_a_replica_that_is_down_costs_time_and_a_shard_without_any_fails(self):
        for replicas, fails in ((1, True), (2, False)):
            of = cluster(replicas=replicas)
            of.shards[1][0].down_until = math.inf
            simulation = scale.Simulation(of, DEMANDS, variation=0.0, failures=(1e12, 1.0, 1.0))
            for second in range(40):
                simulation.at(second, lambda t, simulation=simulation: simulation.search(t, simulation.note))
            said = simulation.run(40.0).summary()
            self.assertEqual(said["failed"], 40 if fails else 0)
            if not fails:
                self.assertGreater(said["p99_ms"], 1000)
                self.assertEqual(said["searches"], 40)

    def test_the_same_seed_gives_the_same_figures(self):
        one, two = (scale.Simulation(cluster(), DEMANDS, seed=5).open_loop(100, 5.0).summary() for _ in range(2))
        self.assertEqual(one, two)


@unittest.skipUnless((ROOT / "benchmarks/results/scale.json").exists(), "nothing was measured yet")
class Results(unittest.TestCase):
    def setUp(self):
        self.stored = json.loads((ROOT / "benchmarks/results/scale.json").read_text())

    def test_the_file_has_what_the_model_says_today(self):
        results = json.loads(json.dumps(self.stored))
        scale.check(results)
        scale.plan(results)
        for key in ("check", "plans", "machine", "failures"):
            self.assertEqual(json.loads(json.dumps(results[key])), self.stored[key], key)

    def test_the_simulator_is_a_lower_bound_of_the_real_three_shards_and_not_far_from_them(self):
        """They were measured on a machine that had other work as well: docs/scale.md."""
        for row in self.stored["check"]:
            self.assertGreater(row["p50_ratio"], 1 / 2.2, row)
            self.assertLess(row["p50_ratio"], 1.1, row)
            self.assertGreater(row["rate_ratio"], 1 / 1.1, row)
            self.assertLess(row["rate_ratio"], 2.2, row)


if __name__ == "__main__":
    unittest.main()
