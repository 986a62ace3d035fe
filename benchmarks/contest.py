"""Shared by compare.py (CPU) and cuda/peers.py (GPU): the collections, the summary of rounds, and the tables."""
import json
import math
import re
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

DIM = 128
CANDIDATES = 100  # of each query
HARD, EASY = 0.0, 0.7  # `diml generate --common`
MOST_MEAN_DIFFERENCE = 5e-4  # of scores, above which two programs do not compute the same thing
BEST = "best"  # a contestant's row with its fastest number of threads, chosen in each round


@dataclass(frozen=True)
class Collection:
    name: str
    grid: int
    common: float
    images: int
    classes: int
    queries: int


@dataclass(frozen=True)
class Files:
    """The files that all contestants read, and the files of their scores."""
    prefix: Path

    def path(self, kind):
        return f"{self.prefix}.{kind}.npy"

    def arguments(self):
        return ["--cells", self.path("cells"), "--globals", self.path("globals")]

    def remove(self):
        for file in self.prefix.parent.glob(self.prefix.name + ".*"):
            file.unlink()


def nearest_by_cosine(global_vectors, queries):
    """The candidates of the first queries, without the queries themselves: int64 [queries, CANDIDATES]."""
    unit = global_vectors / np.linalg.norm(global_vectors, axis=1, keepdims=True)
    cosine = unit[:queries] @ unit.T
    np.fill_diagonal(cosine, -np.inf)
    return np.argsort(-cosine, axis=1, kind="stable")[:, :CANDIDATES].astype(np.int64)


def make_files(build, collection, folder, nearest=nearest_by_cosine):
    files = Files(folder / collection.name.replace(" ", "_"))
    subprocess.run([build / "diml", "generate", "--out", files.prefix, "--grid", str(collection.grid),
                    "--images", str(collection.images), "--classes", str(collection.classes), "--dim", str(DIM),
                    "--common", str(collection.common)], check=True, stdout=subprocess.DEVNULL)
    # In random order: neighbouring queries of one class would find each other's candidates in the cache.
    order = np.random.default_rng(0).permutation(collection.images)
    for kind in ("cells", "globals"):
        np.save(files.path(kind), np.load(files.path(kind))[order])
    candidates = nearest(np.load(files.path("globals")), collection.queries)
    sources = np.repeat(np.arange(collection.queries, dtype=np.int64), CANDIDATES)
    np.save(files.path("candidates"), candidates)
    np.save(files.path("pairs"), np.stack([sources, candidates.ravel()], axis=1))
    return files


def run_json(name, command, environment=None):
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{Path(sys.argv[0]).name}: {name} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def times_as_fast(ours, theirs):
    """One rate for each round; a contestant that ran once is compared within that round."""
    ratios = [our / their for our, their in zip(ours, theirs)]
    return {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}


class Rounds:
    """Rates of all contestants, round by round."""

    def __init__(self):
        self.results = {}  # (name, threads, collection): the JSON objects of its rounds

    def add(self, name, threads, collection, result):
        self.results.setdefault((name, threads, collection.name), []).append(result)

    def threads_of(self, name):
        return sorted({threads for other, threads, _ in self.results if other == name})

    def rates(self, name, threads, collection):
        counts = self.threads_of(name) if threads == BEST else [threads]
        of_counts = [[result["pairs_per_second"] for result in self.results[name, count, collection.name]]
                     for count in counts]
        return [max(same_round) for same_round in zip(*of_counts)]

    def figures(self, name, threads, collection, against):
        rates = self.rates(name, threads, collection)
        counts = self.threads_of(name) if threads == BEST else [threads]
        last = max((self.results[name, count, collection.name][-1] for count in counts),
                   key=lambda result: result["pairs_per_second"])
        figures = {"pairs_per_second": statistics.median(rates), "iterations": last["iterations"], "rates": rates}
        if "form" in last:
            figures["form"], figures["chunk_queries"] = last["form"], last["chunk"]
        if against is not None:
            figures["diml_times"] = times_as_fast(self.rates(against, BEST, collection), rates)
        return figures


def rows_of(rounds, contestants, collections):
    """contestants: (name, title, the row of ours that it is compared with or None)."""
    rows = []
    for name, title, against in contestants:
        counts = rounds.threads_of(name)
        for threads in counts + [BEST]:
            rows.append({"name": name, "title": title, "threads": threads, "against": against,
                         "figures": {collection.name: rounds.figures(name, threads, collection, against)
                                     for collection in collections}})
    return rows


def difference_rows(collection, scores, truths):
    """scores, truths: {name: [pairs]}; a truth may hold the first pairs only."""
    rows = []
    for truth, expected in truths.items():
        for name, found in scores.items():
            if name == truth:
                continue
            difference = np.abs(np.ravel(found)[:expected.size].astype(np.float64) - np.ravel(expected))
            rows.append({"collection": collection.name, "name": name, "truth": truth, "pairs": int(expected.size),
                         "mean": float(difference.mean()), "largest": float(difference.max())})
    return rows


def check_agreement(rows, names):
    strange = [row for row in rows if row["name"] in names and not row["mean"] <= MOST_MEAN_DIFFERENCE]
    if strange:
        sys.exit(f"{strange[0]['name']} differs from {strange[0]['truth']} by {strange[0]['mean']:.1e} in the mean at"
                 f" {strange[0]['collection']}: these rates do not compare")


def three_digits(rate):
    for unit, suffix in ((1e6, " M"), (1e3, " k")):
        if rate >= unit:
            return f"{with_digits(rate / unit)}{suffix}"
    return f"{rate:.0f}"


def with_digits(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def times_in_words(value):
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:.0f}"


def print_results(results):
    names = [collection["name"] for collection in results["collections"]]
    width = max(len(row["title"]) for row in results["rows"])
    print(f"\n{results['machine']}")
    for name, libraries in results["libraries"].items():
        print(f"  {name}: {libraries}")
    for name in names:
        print(f"\n{name:<{width}} {'threads':>7} {'pairs/s':>12} {'iterations':>10}  diml's speed over it")
        for row in results["rows"]:
            if row["threads"] == BEST:
                continue  # one of the rows above
            figures = row["figures"][name]
            times = figures.get("diml_times")
            spread = "" if times is None else (f"{times['median']:.2f} ({times['least']:.2f}..{times['most']:.2f}),"
                                               f" {row['against']}")
            form = f" [{figures['form']}; {figures['chunk_queries']} queries]" if "form" in figures else ""
            print(f"{row['title']:<{width}} {row['threads']:>7} {figures['pairs_per_second']:>12,.0f}"
                  f" {figures['iterations']:>10.1f}  {spread}{form}")
        for missing in results["missing"]:
            print(f"{missing['title']:<{width}}  {missing['why']}")
    print("\ndiml's speed over it: our rate by theirs, the fastest number of threads of ours, within a round; median of the"
          f" rounds (least..most)\n{ITERATIONS}")
    print("\nabsolute difference of the scores")
    for row in results["agreement"]:
        print(f"{row['collection']}  {row['name']:<28} to {row['truth']:<10} mean {row['mean']:.1e},"
              f" largest {row['largest']:.1e}, over {row['pairs']:,} pairs")


ITERATIONS = ("iterations: of the authors' loop until a query's candidates stop together, of the batched peer until a"
              " chunk does, of POT and diml until each pair does")


def markdown_cell(figures):
    text = f"{three_digits(figures['pairs_per_second'])}; {figures['iterations']:.1f}"
    times = figures.get("diml_times")
    if times is None:
        return text
    return (f"{text}; **{times_in_words(times['median'])} x** ({times_in_words(times['least'])} to"
            f" {times_in_words(times['most'])})")


def difference_cell(results, row, name):
    for difference in results["agreement"]:
        if difference["name"] == row["name"] and difference["collection"] == name:
            return f"{difference['mean']:.0e}, {difference['largest']:.0e}"
    return ""


def markdown(results):
    names = [collection["name"] for collection in results["collections"]]
    rows = [row for row in results["rows"] if row["threads"] == BEST]
    truth = results["agreement"][0]["truth"]
    rule = "|---" * (len(names) + 1) + "|"
    lines = [f"| pairs/s; iterations; diml's speed over it | {' | '.join(names)} |", rule]
    for row in rows:
        lines.append(f"| {row['title']} | {' | '.join(markdown_cell(row['figures'][name]) for name in names)} |")
    lines += [f"| {missing['title']} | {' | '.join([missing['why']] * len(names))} |" for missing in results["missing"]]
    lines += ["", f"| difference of the scores to {truth}'s: mean, largest | {' | '.join(names)} |", rule]
    for row in rows:
        if row["name"] != truth:
            lines.append(f"| {row['title']} | {' | '.join(difference_cell(results, row, name) for name in names)} |")
    libraries = "; ".join(f"{name}: {words}" for name, words in results["libraries"].items())
    rounds = "1 round" if results["rounds"] == 1 else f"{results['rounds']} rounds"
    others = results.get("cores_used_by_others", 0.0)
    noise = f" Preliminary: other programs used {others:.1f} cores meanwhile." if others > 0.1 else ""
    lines += ["", f"{results['machine']}, {rounds}. {libraries}.{noise}"]
    return "\n".join(lines)


def markdown_into(document, source, results):
    """Puts the table between the two comments that name its source."""
    name = re.escape(source.name)
    place = re.compile(rf"(<!-- table of benchmarks/results/{name} -->\n).*?(<!-- end of table -->)", re.DOTALL)
    text = document.read_text()
    if not place.search(text):
        sys.exit(f"{document} has no comment <!-- table of benchmarks/results/{source.name} -->")
    document.write_text(place.sub(lambda match: f"{match.group(1)}{markdown(results)}\n{match.group(2)}", text))


def collections_in_json(collections):
    return [asdict(collection) | {"candidates": CANDIDATES, "dim": DIM} for collection in collections]


def save(path, results):
    if any(math.isnan(row["mean"]) for row in results["agreement"]):
        sys.exit("a score is not a number: nothing is written")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
