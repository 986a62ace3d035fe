#!/usr/bin/env python3
"""How many machines, bytes and seconds a gallery of any size takes, and how long a search waits.

  scale.py take FOLDER RESULTS    the measurements of scale_measure.py, and constants from them
  scale.py check RESULTS          compares the simulator with the real three shards
  scale.py plan RESULTS           1 million, 100 million and 10 billion images
  scale.py tables RESULTS PAGE    writes the tables of docs/scale.md

RESULTS is benchmarks/results/scale.json; the verbs write what they find into it. Plain Python;
docs/scale.md explains the model. A cluster has servers (diml serve), coordinators (the database that
has the gallery's row, and standbys of it) and shards, each with replicas. A search takes its turn at a
server, a coordinator, every shard at once (the nearest by its index), again a coordinator, every shard
at once (the grids of the candidates), and the server, which re-ranks.
"""

import argparse
import heapq
import json
import math
import random
from pathlib import Path

# What a plan assumes; everything else is measured. Images, searches per second.
SIZES = ((10**6, 20), (10**8, 200), (10**10, 1000))
MACHINE = {"cores": 16, "memory_gb": 128, "memory_for_index": 0.6, "busy": 0.5, "round_trip_ms": 0.2}
FAILURES = {"seconds_between": 60.0, "seconds_until_noticed": 1.0, "seconds_of_repair": 5.0}
# Of the two stages at the shards, by their processor time: candidates, then grids.
FIRST_STAGE_SHARE = 0.75
# ResNet-50 in bfloat16 on one H200: docs/cuda.md.
EMBEDDED_PER_SECOND_GPU = 13460
CELL_BYTES = {"float16": 4 * 4 * 128 * 2, "int8": 4 * 4 * 128}


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

    def hosts(self):
        every = self.servers + self.coordinators + [h for replicas in self.shards for h in replicas]
        return list({id(host): host for host in every}.values())


class Simulation:
    """Searches that arrive at random, or clients of which each waits for its answer (closed).

    demands: processor seconds of a search by role; that of a shard is of one shard.
    failures: seconds between two failures of a host, until it is noticed, until it is back.
    """

    def __init__(self, cluster, demands, seed=1, variation=0.3, round_trip=0.0002, failures=None):
        self.cluster, self.demands, self.round_trip = cluster, demands, round_trip
        self.random = random.Random(seed)
        self.variation = variation
        self.failures = failures
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

    def visit(self, now, stages, begun, done):
        """stages: lists of (replicas, seconds) that run at once."""
        if not stages:
            return done(now, begun)
        latest = now
        for replicas, seconds in stages[0]:
            standing = [host for host in replicas if host.down_until <= now]
            if not standing:
                return done(None, begun)
            chosen = self.random.choice(replicas)
            wait = 0.0
            if chosen.down_until > now:  # it is noticed, and another one is asked
                wait = self.failures[1]
                chosen = self.random.choice(standing)
            latest = max(latest, chosen.ends(now + wait, self.cost(seconds)))
        return self.at(latest + self.round_trip, lambda t: self.visit(t, stages[1:], begun, done))

    def search(self, now, done):
        d, c = self.demands, self.cluster
        server, coordinator = [(c.servers, d["server"] / 2)], [(c.coordinators, d["coordinator"] / 2)]
        at_shards = lambda share: [(replicas, d["shard"] * share) for replicas in c.shards]
        self.visit(now, [server, coordinator, at_shards(FIRST_STAGE_SHARE), coordinator,
                         at_shards(1 - FIRST_STAGE_SHARE), server], now, done)

    def note(self, now, begun):
        if now is None:
            self.failed += 1
        else:
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
        return {"searches": len(self.seconds) + self.failed, "failed": self.failed,
                "p50_ms": 1e3 * percentile(self.seconds, 0.5), "p99_ms": 1e3 * percentile(self.seconds, 0.99),
                "per_second": len(self.seconds) / self.until}


def percentile(values, share):
    ordered = sorted(values)
    return ordered[int(share * (len(ordered) - 1))] if ordered else math.nan


# ----------------------------------------------------------------------------- measurements


def take(folder, results):
    for name in ("fill", "search", "embed"):
        path = folder / f"{name}.json"
        if path.exists():
            results[name] = json.loads(path.read_text())
    fill, search = results["fill"], results["search"]
    images, one, network = fill["images"], fill["one"], search.get("network")
    results["constants"] = {
        "stored_bytes": one["bytes"] / images,
        "stored_bytes_lmdb": fill["lmdb"]["bytes"] / images,
        "index_bytes": fill["one_index"]["bytes"] / images,
        "filled_per_second": images / one["fill_seconds"],
        "filled_per_second_lmdb": images / fill["lmdb"]["fill_seconds"],
        "copied_per_second_to_shards": images / fill["three_copy"]["seconds"],
        "indexed_per_second_core": images / fill["one_index"]["seconds"] / search["three_shards"]["cores"],
        "recall_at_100": fill["one_index"]["recall"]["100"],
        "recall_at_100_shards": fill["three_index"]["recall"]["100"],
    }
    if "three_pgvector" in search:
        results["constants"]["shards_over_one"] = (
            search["three_pgvector"]["search_ms"]["median"] / search["one_pgvector"]["search_ms"]["median"])
    if network:
        results["constants"].update(network_kb_of_shard=network["per_shard"] / 1e3,
                                    network_kb_of_database=network["to_database"] / 1e3,
                                    network_kb_of_client=network["to_client"] / 1e3)


def demands_of(measured):
    """Processor seconds of a search when one client searches: what more clients wait for is the simulator's to say."""
    of = {kind: ms / 1e3 for kind, ms in measured["runs"][0]["processor_ms"].items()}
    return {**of, "shard": of["shard"] / measured["shards"]}


def check(results):
    """All roles on the machine of the measurement, as it was, and the client on its cores too."""
    measured = results["search"]["three_shards"]
    demands = demands_of(measured)
    demands["server"] += demands.pop("client")
    results["check"] = []
    for run in measured["runs"]:
        host = Host(measured["cores"])
        cluster = Cluster([host], [host], [[host]] * measured["shards"])
        said = Simulation(cluster, demands, round_trip=0.0001).closed_loop(run["clients"], 60.0).summary()
        results["check"].append({
            "clients": run["clients"],
            "measured": {k: run[k] for k in ("p50_ms", "p99_ms", "per_second")},
            "simulated": {k: said[k] for k in ("p50_ms", "p99_ms", "per_second")},
            "p50_ratio": said["p50_ms"] / run["p50_ms"], "rate_ratio": said["per_second"] / run["per_second"]})


# ----------------------------------------------------------------------------- plans


def plan_of(images, rate, results):
    c, m, measured = results["constants"], MACHINE, results["search"]["three_shards"]
    demands = demands_of(measured)
    # An index of which a part is not in memory is read from the disk at random: memory bounds a shard.
    of_shard = m["memory_gb"] * 1e9 * m["memory_for_index"] / c["index_bytes"]
    shards = max(1, math.ceil(images / of_shard))
    here = images / shards
    # A walk through the graph, and an insertion, visit a number of nodes that grows with the logarithm of all.
    growth = lambda of: max(1.0, math.log(here) / math.log(of))
    demands["shard"] *= growth(measured["items"] / measured["shards"])
    demands["coordinator"] *= max(1.0, shards / measured["shards"])  # it plans for each of them, and merges
    hosts = lambda seconds: max(2, math.ceil(rate * seconds / (m["cores"] * m["busy"])))
    replicas, servers, coordinators = (hosts(demands[role]) for role in ("shard", "server", "coordinator"))
    some = lambda count: [Host(m["cores"]) for _ in range(count)]
    until = max(5.0, min(120.0, 4e5 / (rate * shards)))

    def simulated(failures=None):
        cluster = Cluster(some(servers), some(coordinators), [some(replicas) for _ in range(shards)])
        return Simulation(cluster, demands, round_trip=m["round_trip_ms"] / 1e3, failures=failures).open_loop(
            rate, until).summary()

    terabytes = lambda each: images * each / 1e12
    return {
        "images": images, "searches_per_second": rate,
        "cells_float16_tb": terabytes(CELL_BYTES["float16"]), "cells_int8_tb": terabytes(CELL_BYTES["int8"]),
        "stored_tb": terabytes(c["stored_bytes"]), "index_gb": images * c["index_bytes"] / 1e9,
        "shards": shards, "replicas": replicas, "servers": servers, "coordinators": coordinators,
        "machines": shards * replicas + servers + coordinators,
        "embedding_gpu_hours": images / EMBEDDED_PER_SECOND_GPU / 3600,
        "fill_hours": here / c["filled_per_second"] / 3600,
        "index_hours": here * growth(results["fill"]["images"]) / (c["indexed_per_second_core"] * m["cores"]) / 3600,
        "network_kb_per_search": shards * c["network_kb_of_shard"] + c["network_kb_of_database"]
        + c["network_kb_of_client"] if "network_kb_of_shard" in c else None,
        "healthy": simulated(), "with_failures": simulated(tuple(FAILURES.values())),
    }


def plan(results):
    results["machine"], results["failures"] = MACHINE, FAILURES
    results["plans"] = [plan_of(images, rate, results) for images, rate in SIZES]


# ----------------------------------------------------------------------------- tables


def tables(results, page):
    """Numbers with their sources behind them, which a test compares with the file."""
    def number(pointer, digits):
        value = results
        for key in pointer.strip("/").split("/"):
            value = value[int(key)] if isinstance(value, list) else value.get(key, {})
        if value in ({}, None):
            return "not measured"
        return f"{value:.{digits}f}<!--= file:benchmarks/results/scale.json#{pointer} -->"

    def table(head, rows):
        lines = [head, ["---"] * len(head), *rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def of_plans(rows):
        return table(["", "1 million", "100 million", "10 billion"],
                     [[title] + [number(f"/plans/{k}/{key}", digits) for k in range(len(results["plans"]))]
                      for title, key, digits in rows])

    parts = {
        "measured": table(["", "LMDB", "one PostgreSQL", "three shards"], [
            ["images stored a second", number("/constants/filled_per_second_lmdb", 0),
             number("/constants/filled_per_second", 0), number("/constants/copied_per_second_to_shards", 0)],
            ["bytes of an image", number("/constants/stored_bytes_lmdb", 0), number("/constants/stored_bytes", 0), "the same"],
            ["graph: built in seconds", number("/fill/lmdb_index/seconds", 0), number("/fill/one_index/seconds", 0),
             number("/fill/three_index/seconds", 0)],
            ["graph: recall of the first 100", number("/fill/lmdb_index/recall/100", 4),
             number("/fill/one_index/recall/100", 4), number("/fill/three_index/recall/100", 4)],
            ["search by the graph, 100 re-ranked: median, ms", number("/search/lmdb_index/search_ms/median", 1),
             number("/search/one_pgvector/search_ms/median", 1), number("/search/three_pgvector/search_ms/median", 1)],
            ["exact search, 100 re-ranked: median, ms", number("/search/lmdb_exact/search_ms/median", 1),
             number("/fill/one/search_ms/median", 1), ""]]),
        "check": table(["clients", "p50 measured, ms", "simulated", "p99 measured, ms", "simulated", "searches/s measured", "simulated"], [
            [number(f"/check/{k}/clients", 0)] + [number(f"/check/{k}/{who}/{key}", 1) for key in ("p50_ms", "p99_ms", "per_second")
                                                  for who in ("measured", "simulated")]
            for k in range(len(results["check"]))]),
        "sizes": of_plans([
            ["cells, float16, TB", "cells_float16_tb", 3], ["cells, int8, TB (not built)", "cells_int8_tb", 3],
            ["in PostgreSQL, one copy, TB", "stored_tb", 3], ["index of pgvector, one copy, GB", "index_gb", 1],
            ["embedding, hours of one H200", "embedding_gpu_hours", 2], ["filling, hours, all shards at once", "fill_hours", 2],
            ["building the index, hours, all at once", "index_hours", 2],
            ["network of a search, KB", "network_kb_per_search", 0]]),
        "machines": of_plans([
            ["searches a second", "searches_per_second", 0], ["shards", "shards", 0], ["replicas of each", "replicas", 0],
            ["coordinators", "coordinators", 0], ["servers", "servers", 0], ["machines", "machines", 0],
            ["p50, ms", "healthy/p50_ms", 1], ["p99, ms", "healthy/p99_ms", 1],
            ["p50 while hosts fail, ms", "with_failures/p50_ms", 1], ["p99 while hosts fail, ms", "with_failures/p99_ms", 0],
            ["of searches, failed", "with_failures/failed", 0], ["searches simulated", "with_failures/searches", 0]]),
    }
    text = page.read_text()
    for name, content in parts.items():
        begin, end = f"<!-- table {name} -->\n", "<!-- end -->"
        first = text.index(begin) + len(begin)
        text = text[:first] + content + "\n" + text[text.index(end, first):]
    page.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    of_take = verbs.add_parser("take")
    of_take.add_argument("folder", type=Path)
    parsers = {"take": of_take, **{verb: verbs.add_parser(verb) for verb in ("check", "plan", "tables")}}
    for one in parsers.values():
        one.add_argument("results", type=Path)
    parsers["tables"].add_argument("page", type=Path)
    arguments = parser.parse_args()
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}
    if arguments.verb == "tables":
        return tables(results, arguments.page)
    if arguments.verb == "take":
        take(arguments.folder, results)
    else:
        {"check": check, "plan": plan}[arguments.verb](results)
    beside = arguments.results.with_suffix(".tmp")
    beside.write_text(json.dumps(results, indent=1) + "\n")
    return beside.replace(arguments.results)


if __name__ == "__main__":
    main()
