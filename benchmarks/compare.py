"""Speed and agreement of diml's matcher with its peers, on the same generated grids and the same candidates.

    /usr/bin/python3 benchmarks/compare.py [--rounds 5] [--threads 2] [--build build/release] [--json FILE]

The peers are the authors' loop in PyTorch and POT's ot.sinkhorn (peers/). All take turns within a round, and ratios are
taken within a round: what slows the machine down for a while slows down both sides of a ratio. The measure is the
authors' loop with the number of threads that is faster in that round: its small operations gain little from a second
thread, and lose much where another program wants the core.
"""
import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

PACKAGES = {"numpy": "python3-numpy", "torch": "python3-torch", "ot": "python3-pot"}
missing = [package for module, package in PACKAGES.items() if importlib.util.find_spec(module) is None]
if missing:
    sys.exit(f"compare.py: {sys.executable} lacks the peers: apt install {' '.join(missing)}, and use /usr/bin/python3")

import numpy as np  # noqa: E402  after the check that says what to install

PEERS = Path(__file__).resolve().parent / "peers"
DIM = 128
CANDIDATES = 100  # of each query
POT_QUERIES = 5
STORAGES = ("float32", "float16", "bfloat16")
MOST_MEAN_DIFFERENCE = 5e-4  # to POT, above which the two do not compute the same thing


@dataclass(frozen=True)
class Collection:
    name: str
    grid: int
    images: int
    classes: int
    queries: int


COLLECTIONS = (Collection("G=4", 4, 5000, 250, 200), Collection("G=7", 7, 2000, 100, 40))


@dataclass(frozen=True)
class Files:
    """What all contestants read, and where their scores go."""
    prefix: Path

    def path(self, kind):
        return f"{self.prefix}.{kind}.npy"

    def arguments(self):
        return ["--cells", self.path("cells"), "--globals", self.path("globals")]


@dataclass(frozen=True)
class Contestant:
    name: str
    threads: int
    command: tuple  # what comes before the arguments that all share
    role: str  # authors, pot or ours

    def key(self):
        return f"{self.name}-{self.threads}".replace(" ", "-").replace("'", "")

    def run(self, files):
        """Returns pairs per second and mean iterations."""
        kind = "pairs" if self.role == "ours" else "candidates"
        command = [*self.command, *files.arguments(), f"--{kind}", files.path(kind), "--scores", files.path(self.key())]
        environment = os.environ | {"OMP_NUM_THREADS": str(self.threads), "OPENBLAS_NUM_THREADS": str(self.threads)}
        done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"compare.py: {self.name} failed: {done.stderr.strip()}")
        result = json.loads(done.stdout)
        return result["pairs_per_second"], result["iterations"]


def authors_loop(threads):
    command = (sys.executable, PEERS / "authors_loop.py", "--threads", threads)
    return Contestant("authors' loop", threads, command, role="authors")


def pot():
    command = (sys.executable, PEERS / "pot_sinkhorn.py", "--queries", POT_QUERIES)
    return Contestant("POT float64", 1, command, role="pot")


def diml(build, storage, threads):
    program = build / "benchmarks" / "diml_pairs_per_second"
    command = (program, "--matcher", "cpu", "--storage", storage, "--threads", threads)
    return Contestant(f"diml {storage}", threads, command, role="ours")


def contestants(build, threads):
    counts = sorted({1, threads})
    ours = [diml(build, storage, count) for count in counts for storage in STORAGES]
    return [*(authors_loop(count) for count in counts), pot(), *ours]


def nearest_by_cosine(global_vectors, queries):
    """The candidates of the first queries, themselves left out: int64 [queries, CANDIDATES]."""
    unit = global_vectors / np.linalg.norm(global_vectors, axis=1, keepdims=True)
    cosine = unit[:queries] @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    return np.argsort(-cosine, axis=1, kind="stable")[:, :CANDIDATES].astype(np.int64)


def make_files(build, collection, folder):
    files = Files(folder / collection.name.replace("=", ""))
    subprocess.run([build / "diml", "generate", "--out", files.prefix, "--grid", str(collection.grid),
                    "--images", str(collection.images), "--classes", str(collection.classes), "--dim", str(DIM)],
                   check=True, stdout=subprocess.DEVNULL)
    candidates = nearest_by_cosine(np.load(files.path("globals")), collection.queries)
    sources = np.repeat(np.arange(collection.queries, dtype=np.int64), CANDIDATES)
    np.save(files.path("candidates"), candidates)
    np.save(files.path("pairs"), np.stack([sources, candidates.ravel()], axis=1))
    return files


def run_rounds(everyone, files_of, rounds):
    """Rates by (contestant, collection), one for each round, and the iterations of the last."""
    rates, iterations = defaultdict(list), {}
    for turn in range(rounds):
        print(f"round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
        for collection, files in files_of.items():
            for contestant in everyone:
                if contestant.role == "pot" and turn > 0:
                    continue  # once is enough to see how far off it is
                rate, count = contestant.run(files)
                rates[contestant, collection].append(rate)
                iterations[contestant, collection] = count
    return rates, iterations


def summary(rates, measure):
    """rates, measure: one for each round; a contestant that ran once is compared with the first."""
    ratios = [rate / of_authors for rate, of_authors in zip(rates, measure)]
    return {"pairs_per_second": statistics.median(rates),
            "ratio": {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}}


def rows_of(everyone, rates, iterations):
    rows = [{"name": contestant.name, "threads": contestant.threads} for contestant in everyone]
    for collection in COLLECTIONS:
        authors = [rates[contestant, collection] for contestant in everyone if contestant.role == "authors"]
        measure = [max(same_round) for same_round in zip(*authors)]
        for row, contestant in zip(rows, everyone):
            row[collection.name] = summary(rates[contestant, collection], measure)
            row[collection.name]["iterations"] = iterations[contestant, collection]
    return rows


def agreement_of(everyone, files_of):
    """How far our scores lie from the peers', over the pairs that the peer scored too. Threads change no score."""
    peers = [contestant for contestant in everyone if contestant.role != "ours" and contestant.threads == 1]
    ours = [contestant for contestant in everyone if contestant.role == "ours" and contestant.threads == 1]
    rows = []
    for collection, files in files_of.items():
        for contestant in ours:
            scores = np.load(files.path(contestant.key())).astype(np.float64)
            for peer in peers:
                theirs = np.load(files.path(peer.key())).astype(np.float64).ravel()
                difference = np.abs(scores[:len(theirs)] - theirs)
                rows.append({"collection": collection.name, "ours": contestant.name, "peer": peer.name,
                             "pairs": len(theirs), "largest": difference.max(), "mean": difference.mean()})
    return rows


def print_table(rows):
    heading = "".join(f"{collection.name + ' pairs/s':>14} {'ratio (least..most)':>23} {'iterations':>11}"
                      for collection in COLLECTIONS)
    print(f"{'':<15} {'threads':>7}{heading}")
    for row in rows:
        line = f"{row['name']:<15} {row['threads']:>7}"
        for collection in COLLECTIONS:
            cell = row[collection.name]
            ratio = cell["ratio"]
            spread = f"{ratio['median']:.2f} ({ratio['least']:.2f}..{ratio['most']:.2f})"
            line += f"{cell['pairs_per_second']:>14,.0f} {spread:>23} {cell['iterations']:>11.1f}"
        print(line)
    print("\nratio: to the authors' loop, the faster of its rows within a round; median of the rounds")


def print_agreement(rows):
    print("\nabsolute difference of the scores")
    for row in rows:
        print(f"{row['collection']}  {row['ours']:<13} to {row['peer']:<13} largest {row['largest']:.1e},"
              f" mean {row['mean']:.1e}, over {row['pairs']:,} pairs")


def check_agreement(rows):
    # The authors stop loosely; POT runs until the marginals are met, as we do.
    strange = [row for row in rows if row["peer"].startswith("POT") and not row["mean"] <= MOST_MEAN_DIFFERENCE]
    if strange:
        sys.exit(f"compare.py: {strange[0]['ours']} disagrees with POT by {strange[0]['mean']:.1e} in the mean"
                 f" at {strange[0]['collection']}: these rates do not compare")


def seconds_of_others():
    """CPU seconds that the machine has spent on programs that are not ours."""
    user, nice, system, _, _, interrupts, soft_interrupts = Path("/proc/stat").read_text().split()[1:8]
    ticks = sum(map(int, (user, nice, system, interrupts, soft_interrupts)))
    own = os.times()
    return ticks / os.sysconf("SC_CLK_TCK") - own.user - own.system - own.children_user - own.children_system


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="all but POT run with these and with 1")
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="where diml was built")
    parser.add_argument("--json", type=Path, help="write the table here, too")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.threads < 1:
        parser.error("--rounds and --threads must be at least 1")
    for program in ("diml", "benchmarks/diml_pairs_per_second"):
        if not (arguments.build / program).is_file():
            parser.error(f"{arguments.build / program} is not there: cmake --build --preset release, or name --build")
    return arguments


def main():
    arguments = parse_arguments()
    build = arguments.build.resolve()
    everyone = contestants(build, arguments.threads)
    start, others_before = time.perf_counter(), seconds_of_others()
    with tempfile.TemporaryDirectory(prefix="diml-compare-") as folder:
        files_of = {collection: make_files(build, collection, Path(folder)) for collection in COLLECTIONS}
        rates, iterations = run_rounds(everyone, files_of, arguments.rounds)
        agreement = agreement_of(everyone, files_of)
    others = max(0.0, seconds_of_others() - others_before) / (time.perf_counter() - start)
    rows = rows_of(everyone, rates, iterations)
    print_table(rows)
    print_agreement(agreement)
    print(f"\nother programs used {others:.2f} cores meanwhile" + (": repeat when it is quiet" if others > 0.1 else ""))
    if arguments.json:
        table = {"rounds": arguments.rounds, "threads": arguments.threads, "cores_used_by_others": others,
                 "rows": rows, "agreement": agreement}
        arguments.json.write_text(json.dumps(table, indent=2) + "\n")
    check_agreement(agreement)


if __name__ == "__main__":
    main()
