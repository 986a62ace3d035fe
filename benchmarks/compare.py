"""Speed and agreement of diml's matcher with its peers, on the same generated grids and the same candidates.

    /usr/bin/python3 benchmarks/compare.py [--rounds 5] [--threads 2] [--build build/release] [--json FILE]
    /usr/bin/python3 benchmarks/compare.py --markdown FILE [--into docs/speed.md]

The peers (peers/) are the authors' loop in PyTorch, PyTorch with the candidates of many queries in one tensor, and POT's
ot.sinkhorn. Hard grids are spread out like a trained network's; easy ones lie in a cone, where the authors' rule stops
their loop after few iterations, with a larger error. All take turns within a round, and ratios are taken within a round:
other load on the machine then slows down both sides of a ratio. Each side uses the number of threads that is faster in
that round: small operations gain little from a second thread, and lose much if another program uses the core.
"""
import argparse
import importlib.util
import json
import os
import platform
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PACKAGES = {"numpy": "python3-numpy", "torch": "python3-torch", "ot": "python3-pot"}
missing_packages = [package for module, package in PACKAGES.items() if importlib.util.find_spec(module) is None]
if missing_packages:
    sys.exit(f"compare.py: {sys.executable} lacks the peers: apt install {' '.join(missing_packages)},"
             " and use /usr/bin/python3")

import numpy as np  # noqa: E402  after the check that says what to install

import contest  # noqa: E402
from contest import EASY, HARD, Collection  # noqa: E402

PEERS = Path(__file__).resolve().parent / "peers"
POT_QUERIES = 5
STORAGES = ("float32", "float16", "bfloat16")
COLLECTIONS = (Collection("4x4 hard", 4, HARD, 5000, 250, 200), Collection("4x4 easy", 4, EASY, 5000, 250, 200),
               Collection("7x7 hard", 7, HARD, 2000, 100, 40), Collection("7x7 easy", 7, EASY, 2000, 100, 40))


@dataclass(frozen=True)
class Contestant:
    name: str
    title: str
    threads: int
    command: tuple  # the command without the shared arguments
    role: str  # loop, batched, pot or ours

    def key(self):
        return f"{self.name}-{self.threads}".replace(" ", "-").replace("'", "").replace(",", "")

    def run(self, files):
        kind = "pairs" if self.role == "ours" else "candidates"
        command = [*self.command, *files.arguments(), f"--{kind}", files.path(kind), "--scores", files.path(self.key())]
        threads = str(self.threads)
        return contest.run_json(self.name, command, os.environ | {"OMP_NUM_THREADS": threads,
                                                                  "OPENBLAS_NUM_THREADS": threads})


def authors_loop(threads):
    command = (sys.executable, PEERS / "authors_loop.py", "--threads", threads)
    return Contestant("authors' loop", "the authors' loop, PyTorch", threads, command, role="loop")


def batched(threads, compiled):
    command = (sys.executable, PEERS / "batched_torch.py", "--threads", threads, *(["--compile"] if compiled else []))
    name = "batched, compiled" if compiled else "batched"
    return Contestant(name, f"PyTorch, {name}", threads, command, role="batched")


def pot():
    command = (sys.executable, PEERS / "pot_sinkhorn.py", "--queries", POT_QUERIES)
    return Contestant("POT", "POT `ot.sinkhorn`, float64", 1, command, role="pot")


def diml(build, storage, threads):
    program = build / "benchmarks" / "diml_pairs_per_second"
    command = (program, "--matcher", "cpu", "--storage", storage, "--threads", threads)
    return Contestant(f"diml {storage}", f"diml, {storage} cells", threads, command, role="ours")


def torch_facts():
    import torch
    return torch.__version__, hasattr(torch, "compile")


def contestants(build, threads):
    """All contestants, and those that are not available here."""
    version, can_compile = torch_facts()
    counts = sorted({1, threads})
    everyone = [authors_loop(count) for count in counts] + [batched(count, False) for count in counts]
    if can_compile:
        everyone += [batched(count, True) for count in counts]
    everyone += [pot(), *(diml(build, storage, count) for storage in STORAGES for count in counts)]
    compiled = batched(1, True)
    missing = [] if can_compile else [{"name": compiled.name, "title": compiled.title,
                                       "why": f"not there (torch {version})"}]
    return everyone, missing


def run_rounds(everyone, files_of, count):
    """The rounds, and the libraries that each peer reports."""
    rounds, libraries = contest.Rounds(), {}
    for turn in range(count):
        print(f"round {turn + 1} of {count}", file=sys.stderr, flush=True)
        for collection, files in files_of.items():
            for contestant in everyone:
                if contestant.role == "pot" and turn > 0:
                    continue  # one round is enough for a slow peer
                result = contestant.run(files)
                rounds.add(contestant.name, contestant.threads, collection, result)
                if "runs_on" in result:
                    libraries.setdefault(result["runs_on"], set()).add(contestant.role)
    return rounds, {"POT" if roles == {"pot"} else "PyTorch peers" if "pot" not in roles else "peers": runs_on
                    for runs_on, roles in libraries.items()}


def agreement_of(everyone, files_of):
    """Differences of scores from POT's, over the pairs that POT scored. diml's scores do not depend on the threads."""
    rows = []
    for collection, files in files_of.items():
        scores = {contestant.name: np.load(files.path(contestant.key()))
                  for contestant in everyone if contestant.threads == 1}
        rows += contest.difference_rows(collection, scores, {"POT": scores["POT"]})
    return rows


def seconds_of_others():
    """CPU seconds of all other programs on the machine."""
    user, nice, system, _, _, interrupts, soft_interrupts = Path("/proc/stat").read_text().split()[1:8]
    ticks = sum(map(int, (user, nice, system, interrupts, soft_interrupts)))
    own = os.times()
    return ticks / os.sysconf("SC_CLK_TCK") - own.user - own.system - own.children_user - own.children_system


def machine(threads):
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    simd = "AVX-512" if "avx512bw" in Path("/proc/cpuinfo").read_text() else platform.machine()
    cores = "1 core" if threads == 1 else f"{threads} cores"
    return f"{cores} of {model} ({simd})"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="all but POT run with these and with 1")
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="where diml was built")
    parser.add_argument("--json", type=Path, help="write the results here, too")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="measure nothing: the table of these results")
    parser.add_argument("--into", type=Path, metavar="DOCUMENT", help="with --markdown: put it into its place there")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.threads < 1:
        parser.error("--rounds and --threads must be at least 1")
    if arguments.into and not arguments.markdown:
        parser.error("--into needs --markdown FILE")
    for program in () if arguments.markdown else ("diml", "benchmarks/diml_pairs_per_second"):
        if not (arguments.build / program).is_file():
            parser.error(f"{arguments.build / program} is not there: cmake --build --preset release, or name --build")
    return arguments


def show_markdown(source, document):
    results = json.loads(source.read_text())
    if document:
        contest.markdown_into(document, source, results)
    else:
        print(contest.markdown(results))


def main():
    arguments = parse_arguments()
    if arguments.markdown:
        return show_markdown(arguments.markdown, arguments.into)
    build = arguments.build.resolve()
    everyone, missing = contestants(build, arguments.threads)
    start, others_before = time.perf_counter(), seconds_of_others()
    with tempfile.TemporaryDirectory(prefix="diml-compare-") as folder:
        files_of = {collection: contest.make_files(build, collection, Path(folder)) for collection in COLLECTIONS}
        rounds, libraries = run_rounds(everyone, files_of, arguments.rounds)
        agreement = agreement_of(everyone, files_of)
    others = max(0.0, seconds_of_others() - others_before) / (time.perf_counter() - start)
    titles = {contestant.name: (contestant.title, None if contestant.role == "ours" else "diml float32")
              for contestant in everyone}
    rows = contest.rows_of(rounds, [(name, *rest) for name, rest in titles.items()], COLLECTIONS)
    results = {"kind": "cpu", "machine": machine(arguments.threads), "libraries": libraries,
               "rounds": arguments.rounds, "threads": arguments.threads, "cores_used_by_others": others,
               "collections": contest.collections_in_json(COLLECTIONS), "rows": rows, "missing": missing,
               "agreement": agreement}
    contest.print_results(results)
    print(f"\nother programs used {others:.2f} cores meanwhile" + (": repeat when it is quiet" if others > 0.1 else ""))
    if arguments.json:
        contest.save(arguments.json, results)
    # The authors' rule stops early; the others run until the marginal error is small, as diml does.
    contest.check_agreement(agreement, [name for name in titles if name != "authors' loop"])


if __name__ == "__main__":
    main()
