#!/usr/bin/env python3
"""How many machines, bytes and seconds a gallery of any size takes, and how long a search waits.

  scale.py measure --server URL --pids KIND=PID,PID...  measures what a search costs each kind of machine
  scale.py check   RESULTS                              compares the simulator with those measurements
  scale.py plan    RESULTS                              1 million, 100 million and 10 billion images

RESULTS is benchmarks/results/scale.json; `check` and `plan` write what they find into it. Plain Python;
docs/scale.md explains the model. A cluster has servers (diml serve), a coordinator (the database that
has the gallery's row) and shards, each with replicas. A search takes its turn at a server, at the
coordinator, at every shard at once (the nearest by its index), again at the coordinator, at every shard
at once (the grids of the hits), and at the server, which re-ranks.
"""

import argparse
import heapq
import json
import math
import os
import random
import statistics
import sys
import threading
import time
import urllib.request
from pathlib import Path

KINDS = ("server", "coordinator", "shard")


# ----------------------------------------------------------------------------- the simulator


class Host:
    """Some cores that work off tasks in the order in which they come. Shared by several roles, or not."""

    def __init__(self, cores):
        self.free_at = [0.0] * cores
        self.busy = 0.0
        self.down_until = 0.0

    def ends(self, now, seconds):
        start = max(now, heapq.heappop(self.free_at))
        heapq.heappush(self.free_at, start + seconds)
        self.busy += seconds
        return start + seconds


class Cluster:
    """Hosts by role. shards: a list of replicas for each shard."""

    def __init__(self, servers, coordinators, shards):
        self.servers, self.coordinators, self.shards = servers, coordinators, shards

    @staticmethod
    def of(servers, shards, replicas, cores):
        host = lambda: Host(cores)
        return Cluster([host() for _ in range(servers)], [host() for _ in range(max(1, servers // 4))],
                       [[host() for _ in range(replicas)] for _ in range(shards)])

    def hosts(self):
        every = self.servers + self.coordinators + [h for replicas in self.shards for h in replicas]
        return list({id(host): host for host in every}.values())


class Simulation:
    """Searches that arrive at random, or clients of which each waits for its answer (closed)."""

    def __init__(self, cluster, demands, seed=1, variation=0.3, round_trip=0.0002, failures=None):
        self.cluster, self.demands, self.round_trip = cluster, demands, round_trip
        self.random = random.Random(seed)
        self.variation = variation
        self.failures = failures  # (seconds between two failures of a host, to notice it, to repair it)
        self.events, self.count = [], 0
        self.seconds, self.failed = [], 0

    def at(self, when, what):
        self.count += 1
        heapq.heappush(self.events, (when, self.count, what))

    def cost(self, mean):
        """A gamma distribution with the given coefficient of variation."""
        if mean == 0 or self.variation == 0:
            return mean
        shape = 1 / self.variation**2
        return self.random.gammavariate(shape, mean / shape)

    def up(self, hosts, now):
        return [host for host in hosts if host.down_until <= now]

    def visit(self, now, stages, begun, done):
        """stages: lists of (replicas, seconds) that run at once."""
        if not stages:
            return done(now, begun)
        latest = now
        for replicas, seconds in stages[0]:
            standing = self.up(replicas, now)
            if not standing:
                self.failed += 1
                return done(None, begun)
            chosen = self.random.choice(replicas)
            wait = 0.0
            if chosen not in standing:  # it is noticed, and another one is asked
                wait = self.failures[1]
                chosen = self.random.choice(standing)
            latest = max(latest, chosen.ends(now + wait, self.cost(seconds)))
        self.at(latest + self.round_trip, lambda t: self.visit(t, stages[1:], begun, done))

    def search(self, now, done):
        d, c = self.demands, self.cluster
        server, coordinator = [(c.servers, d["server"] / 2)], [(c.coordinators, d["coordinator"] / 2)]
        everywhere = lambda seconds: [(replicas, seconds) for replicas in c.shards]
        share = d.get("first_stage_share", 0.75)
        stages = [server, coordinator, everywhere(d["shard"] * share), coordinator,
                  everywhere(d["shard"] * (1 - share)), server]
        self.visit(now, stages, now, done)

    def note(self, now, begun):
        if now is not None:
            self.seconds.append(now - begun)

    def fail_hosts(self, until):
        between, _, repair = self.failures
        for host in self.cluster.hosts():
            when = self.random.expovariate(1 / between)
            while when < until:
                self.at(when, lambda t, host=host: setattr(host, "down_until", t + repair))
                when += repair + self.random.expovariate(1 / between)

    def run(self, until):
        if self.failures:
            self.fail_hosts(until)
        while self.events:
            when, _, what = heapq.heappop(self.events)
            what(when)
        self.until = until
        return self

    def open_loop(self, rate, until):
        when = 0.0
        while (when := when + self.random.expovariate(rate)) < until:
            self.at(when, lambda t: self.search(t, self.note))
        return self.run(until)

    def closed_loop(self, clients, until):
        def done(now, begun):
            self.note(now, begun)
            if now is not None and now < until:
                self.search(now, done)

        for _ in range(clients):
            self.at(0.0, lambda t: self.search(t, done))
        return self.run(until)

    def summary(self):
        return {
            "searches": len(self.seconds) + self.failed,
            "failed": self.failed,
            "p50_ms": 1e3 * percentile(self.seconds, 0.5),
            "p99_ms": 1e3 * percentile(self.seconds, 0.99),
            "per_second": len(self.seconds) / self.until,
        }


def percentile(values, share):
    ordered = sorted(values)
    return ordered[int(share * (len(ordered) - 1))] if ordered else math.nan


# ----------------------------------------------------------------------------- measurements


def processor_seconds(pids):
    """Of processes and all below them, with those that have ended."""
    parents, times = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = entry.read_text()
        except OSError:
            continue  # it has ended meanwhile
        fields = text[text.rindex(")") + 2 :].split()
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        times[pid] = sum(map(int, fields[11:15])) if pid in pids else sum(map(int, fields[11:13]))
    total = 0
    for pid in times:
        above = pid
        while above not in pids and above in parents:
            above = parents[above]
        total += times[pid] if above in pids else 0
    return total / os.sysconf("SC_CLK_TCK")


def ask(url, query, top=10, rerank=100):
    body = json.dumps({"query": {"id": query}, "top": top, "rerank": rerank}).encode()
    request = urllib.request.Request(url + "/v1/search", body, {"Content-Type": "application/json"})
    start = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        size = len(answer.read())
    return time.perf_counter() - start, size


def load(url, clients, seconds, items):
    """Searches by some clients, each of which waits for its answers. Returns their times."""
    times, end = [], time.perf_counter() + seconds

    def client(seed):
        chosen = random.Random(seed)
        while time.perf_counter() < end:
            times.append(ask(url, chosen.randrange(items))[0])

    threads = [threading.Thread(target=client, args=(k,)) for k in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def measure(arguments):
    pids = {kind: set(map(int, text.split(","))) for kind, text in (p.split("=") for p in arguments.pids)}
    pids["client"] = {os.getpid()}
    with urllib.request.urlopen(arguments.server + "/v1/gallery") as answer:
        items = json.load(answer)["items"]
    load(arguments.server, 2, 2, items)  # connections, plans, pages in memory
    runs = []
    for clients in (1, 2, 4, 8):
        before = {kind: processor_seconds(of) for kind, of in pids.items()}
        times = load(arguments.server, clients, arguments.seconds, items)
        used = {kind: (processor_seconds(of) - before[kind]) / len(times) for kind, of in pids.items()}
        runs.append({"clients": clients, "searches": len(times), "p50_ms": 1e3 * percentile(times, 0.5),
                     "p99_ms": 1e3 * percentile(times, 0.99), "per_second": len(times) / arguments.seconds,
                     "processor_ms": {kind: 1e3 * seconds for kind, seconds in used.items()}})
        print(json.dumps(runs[-1]), file=sys.stderr)
    json.dump({"items": items, "shards": arguments.shards, "cores": os.cpu_count(),
               "load_average": os.getloadavg()[0], "runs": runs}, sys.stdout, indent=1)
    print()


# ----------------------------------------------------------------------------- check and plan


def demands_of(measured):
    """Processor seconds of a search: the median over the runs. Those of all shards are divided by them."""
    middle = lambda kind: statistics.median(run["processor_ms"].get(kind, 0.0) for run in measured["runs"]) / 1e3
    return {"server": middle("server"), "coordinator": middle("coordinator"),
            "shard": middle("shard") / measured["shards"], "client": middle("client")}


def check(results):
    """All roles on the machine of the measurement, as it was."""
    measured = results["three_shards"]
    demands = demands_of(measured)
    rows = []
    for run in measured["runs"]:
        host = Host(measured["cores"])
        cluster = Cluster([host], [host], [[host]] * measured["shards"])
        # The client computes on the same cores.
        on_one = dict(demands, server=demands["server"] + demands["client"])
        said = Simulation(cluster, on_one, round_trip=0.0001).closed_loop(run["clients"], 60.0).summary()
        rows.append({"clients": run["clients"], "measured": {k: run[k] for k in ("p50_ms", "p99_ms", "per_second")},
                     "simulated": {k: said[k] for k in ("p50_ms", "p99_ms", "per_second")},
                     "p50_ratio": said["p50_ms"] / run["p50_ms"],
                     "rate_ratio": said["per_second"] / run["per_second"]})
    results["check"] = rows
    print("clients   measured p50  simulated p50   measured/s  simulated/s")
    for row in rows:
        print(f"{row['clients']:7d} {row['measured']['p50_ms']:11.1f} ms {row['simulated']['p50_ms']:11.1f} ms "
              f"{row['measured']['per_second']:12.0f} {row['simulated']['per_second']:12.0f}")
    return results


def plan_of(images, results):
    c, m = results["constants"], results["machine"]
    demands = demands_of(results["three_shards"])
    # An index of which a part is not in memory is read from the disk at random: memory bounds a shard.
    of_shard = m["memory_bytes"] * m["memory_for_index"] / c["index_bytes_per_image"]
    shards = max(1, math.ceil(images / of_shard))
    here = images / shards
    # A graph search visits a number of nodes that grows with the logarithm of their count.
    growth = max(1.0, math.log(here) / math.log(results["three_shards"]["items"] / results["three_shards"]["shards"]))
    demands["shard"] *= growth
    rate, most = m["searches_per_second"], 0.5  # of the cores, so that queues stay short
    replicas = max(2, math.ceil(rate * demands["shard"] / (m["cores"] * most)))
    servers = max(2, math.ceil(rate * demands["server"] / (m["cores"] * most)))
    # The coordinator's work grows with the shards that it asks.
    demands["coordinator"] *= max(1.0, shards / results["three_shards"]["shards"])
    coordinators = max(2, math.ceil(rate * demands["coordinator"] / (m["cores"] * most)))
    cluster = lambda: Cluster([Host(m["cores"]) for _ in range(servers)],
                              [Host(m["cores"]) for _ in range(coordinators)],
                              [[Host(m["cores"]) for _ in range(replicas)] for _ in range(shards)])
    until = max(5.0, min(60.0, 2e5 / (rate * shards)))
    healthy = Simulation(cluster(), demands).open_loop(rate, until).summary()
    failing = Simulation(cluster(), demands, failures=(60.0, 1.0, 5.0)).open_loop(rate, until).summary()
    bytes_of = lambda per_image: images * per_image
    return {
        "images": images,
        "grids_float16_bytes": bytes_of(c["grid_bytes_per_image"]),
        "grids_int8_bytes": bytes_of(c["grid_bytes_per_image"] / 2),
        "stored_bytes": bytes_of(c["stored_bytes_per_image"]),
        "index_bytes": bytes_of(c["index_bytes_per_image"]),
        "shards": shards, "replicas": replicas, "servers": servers, "coordinators": coordinators,
        "machines": shards * replicas + servers + coordinators,
        "embedding_gpu_seconds": images / c["embedded_per_second_gpu"],
        "fill_seconds": here / c["filled_per_second"],
        "index_seconds": here / (c["indexed_per_second_core"] * m["cores"]),
        "network_bytes_per_search": shards * c["network_bytes_per_shard"] + c["network_bytes_of_hits"],
        "healthy": healthy,
        "with_failures": failing,
    }


def plan(results):
    results["plans"] = [plan_of(images, results) for images in (10**6, 10**8, 10**10)]
    for one in results["plans"]:
        print(json.dumps(one, indent=1))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    of_measure = verbs.add_parser("measure")
    of_measure.add_argument("--server", required=True, help="http://127.0.0.1:8080")
    of_measure.add_argument("--pids", nargs="+", required=True, help="server=1 coordinator=2 shard=3,4,5")
    of_measure.add_argument("--shards", type=int, default=3)
    of_measure.add_argument("--seconds", type=float, default=5.0)
    for verb in ("check", "plan"):
        verbs.add_parser(verb).add_argument("results", type=Path)
    arguments = parser.parse_args()
    if arguments.verb == "measure":
        measure(arguments)
        return
    results = json.loads(arguments.results.read_text())
    changed = {"check": check, "plan": plan}[arguments.verb](results)
    beside = arguments.results.with_suffix(".tmp")
    beside.write_text(json.dumps(changed, indent=1) + "\n")
    beside.replace(arguments.results)


if __name__ == "__main__":
    main()
