"""Matching on a GPU against PyTorch on the same GPU: the authors' loop, and the candidates of many queries in one
tensor, eager and compiled. Called by peers.sh.

    python3 benchmarks/cuda/peers.py --build build/cuda --out FOLDER [--device cuda] [--rounds 3] [--budget 220]

Each collection is larger than the card's caches, its images are in random order, and no pair comes twice in a pass. On
both sides the normalised grids, the list of pairs and the scores are in the card's memory ("from host memory": diml
uploads the list and downloads the scores), and gathering the candidates' cells is part of the time. Ratios are
taken within a round. All torch contestants run in this process; diml is a separate program that is idle meanwhile.
--device cpu runs everything without a GPU, on small collections.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "peers")]

import authors_loop  # noqa: E402  beside us
import batched_torch  # noqa: E402
import contest  # noqa: E402
from contest import EASY, HARD, Collection  # noqa: E402
from libraries import blas_of_torch  # noqa: E402

COLLECTIONS = {
    "cuda": (Collection("4x4 hard", 4, HARD, 60502, 11316, 60416), Collection("4x4 easy", 4, EASY, 60502, 11316, 60416),
             Collection("7x7 hard", 7, HARD, 20480, 4096, 20480), Collection("7x7 easy", 7, EASY, 20480, 4096, 20480)),
    "cpu": (Collection("4x4 hard", 4, HARD, 600, 30, 40), Collection("7x7 easy", 7, EASY, 300, 15, 8))}
LOOP_QUERIES = 500  # its rate does not depend on the number of queries
TRUTH_PAIRS = 20 * contest.CANDIDATES  # that the double-precision reference matches, too
PRECISIONS = {"cuda": ("float32", "float16"), "cpu": ("float32",)}


def nearest_on(device):
    def nearest(global_vectors, queries):
        """As contest.nearest_by_cosine, for larger memory."""
        unit = torch.nn.functional.normalize(torch.from_numpy(global_vectors).to(device), dim=1)
        lists = []
        for first in range(0, queries, 1024):
            ids = torch.arange(first, min(first + 1024, queries), device=device)
            cosine = unit[ids] @ unit.T
            cosine[torch.arange(len(ids), device=device), ids] = -torch.inf
            lists.append(cosine.topk(contest.CANDIDATES, dim=1).indices)
        return torch.cat(lists).cpu().numpy()
    return nearest


class Loop:
    name, title, against = "authors' loop", "the authors' loop, PyTorch, float32", "diml float32"

    def __init__(self, cells, global_vectors, candidates):
        self.cells = torch.nn.functional.normalize(cells, dim=2)
        self.global_vectors = torch.nn.functional.normalize(global_vectors, dim=1)
        self.candidates = candidates[:LOOP_QUERIES]
        authors_loop.rerank(self.cells, self.global_vectors, self.candidates[:20])  # warms up

    def run(self):
        scores, seconds, iterations = authors_loop.rerank(self.cells, self.global_vectors, self.candidates)
        self.scores = scores.ravel()[:TRUTH_PAIRS].cpu().numpy()
        return {"pairs_per_second": self.candidates.numel() / seconds, "iterations": iterations}


class Batched:
    def __init__(self, cells, global_vectors, candidates, precision, compiled):
        self.name = f"batched {'compiled ' if compiled else ''}{precision}"
        self.title = f"PyTorch, batched, {'compiled, ' if compiled else ''}{precision}"
        self.against = f"diml {precision}"
        self.candidates = candidates
        collection = batched_torch.Collection.prepared(cells, global_vectors, candidates.device.type,
                                                       getattr(torch, precision))
        start = time.perf_counter()
        self.batched = batched_torch.fastest(collection, candidates, compiled)
        print(f"  {self.name}: {self.batched.form.name}, {self.batched.chunk} queries; found in"
              f" {time.perf_counter() - start:.1f} s", flush=True)

    def run(self):
        scores, seconds, iterations = self.batched.match(self.candidates)
        self.scores = scores[:TRUTH_PAIRS].cpu().numpy()
        return {"pairs_per_second": self.candidates.numel() / seconds, "iterations": iterations,
                "form": self.batched.form.name, "chunk": self.batched.chunk}


class Program:
    """diml with one storage: loads once, and measures on request, with the lists in the given place."""

    def __init__(self, build, files, device, precision):
        self.scores = files.path(f"diml-{precision}")
        command = [build / "benchmarks/diml_pairs_per_second", *files.arguments(), "--pairs", files.path("pairs"),
                   "--matcher", device, "--storage", precision, "--lists", "stdin", "--seconds", "0.3",
                   "--scores", self.scores]
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def measure(self, lists):
        print(lists, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"peers.py: {' '.join(map(str, self.process.args))} failed")
        return json.loads(line)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Diml:
    against = None

    def __init__(self, program, precision, lists, words=""):
        self.name = f"diml {precision}{words and ' from host'}"
        self.title = f"diml, {precision} cells{words}"
        self.program, self.lists = program, lists

    def run(self):
        result = self.program.measure(self.lists)
        self.scores = np.load(self.program.scores, mmap_mode="r")[:TRUTH_PAIRS].copy()
        return result


def contestants(arguments, files, programs):
    """programs: {precision: Program}."""
    device = arguments.device
    # Before the peers are tuned: a program that is still loading would disturb them.
    if device == "cuda":
        ours = [Diml(program, precision, "card") for precision, program in programs.items()]
        ours += [Diml(program, precision, "host", ", from host memory") for precision, program in programs.items()]
    else:
        ours = [Diml(program, precision, "host") for precision, program in programs.items()]
    for one in ours:
        one.run()
    cells = torch.from_numpy(np.load(files.path("cells"))).to(device)
    global_vectors = torch.from_numpy(np.load(files.path("globals"))).to(device)
    candidates = torch.from_numpy(np.load(files.path("candidates"))).to(device)
    everyone = [Loop(cells, global_vectors, candidates)]
    for compiled in (False, True) if batched_torch.can_compile() and not arguments.no_compile else (False,):
        everyone += [Batched(cells, global_vectors, candidates, precision, compiled) for precision in PRECISIONS[device]]
    return everyone + ours


def truth_of(build, files):
    """The first pairs by the plain double-precision reference."""
    pairs = np.load(files.path("pairs"))[:TRUTH_PAIRS]
    np.save(files.path("truth-pairs"), pairs)
    contest.run_json("the reference", [build / "benchmarks/diml_pairs_per_second", *files.arguments(), "--pairs",
                                       files.path("truth-pairs"), "--matcher", "reference", "--seconds", "0",
                                       "--scores", files.path("truth")])
    return np.load(files.path("truth"))


def missing_of(no_compile):
    if batched_torch.can_compile() and not no_compile:
        return []
    why = "left out" if no_compile else f"not there (torch {torch.__version__})"
    return [{"name": "batched compiled", "title": "PyTorch, batched, compiled", "why": why}]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("build/cuda"))
    parser.add_argument("--out", type=Path, required=True, help="folder for peers.json and peers.md")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=220, help="seconds after which rounds are left out, but the first")
    parser.add_argument("--no-compile", action="store_true")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error("torch sees no card: --device cpu tries the script out")
    arguments.build = arguments.build.resolve()
    return arguments


def measure(arguments, collection, folder, rounds, start):
    """Returns the contestants' names, titles and partners, and how far their scores are from the reference's."""
    print(f"{collection.name}: {time.perf_counter() - start:.0f} s", flush=True)
    files = contest.make_files(arguments.build, collection, folder, nearest_on(arguments.device))
    programs = {precision: Program(arguments.build, files, arguments.device, precision)
                for precision in PRECISIONS[arguments.device]}
    everyone = contestants(arguments, files, programs)
    for turn in range(arguments.rounds):
        if turn > 0 and time.perf_counter() - start > arguments.budget:
            print(f"  {turn} rounds of {arguments.rounds}: the time is used up", flush=True)
            break
        for contestant in everyone:
            result = contestant.run()
            rounds.add(contestant.name, "-", collection, result)
            print(f"  {contestant.name:<28} {result['pairs_per_second'] / 1e6:10.3f} M pairs/s", flush=True)
    agreement = contest.difference_rows(collection, {one.name: one.scores for one in everyone},
                                        {"reference": truth_of(arguments.build, files)})
    for program in programs.values():
        program.end()
    files.remove()
    return [(one.name, one.title, one.against) for one in everyone], agreement


def main():
    arguments = parse_arguments()
    start = time.perf_counter()
    # torch's default, but an environment may say otherwise: with TF32 exp(S / lambda) would be off by 2 %.
    torch.set_float32_matmul_precision("highest")
    collections = COLLECTIONS[arguments.device]
    rounds, agreement = contest.Rounds(), []
    with tempfile.TemporaryDirectory(prefix="diml-peers-") as folder, torch.no_grad():
        for collection in collections:
            names, differences = measure(arguments, collection, Path(folder), rounds, start)
            agreement += differences
            if arguments.device == "cuda":
                torch.cuda.empty_cache()
    on_card = arguments.device == "cuda"
    libraries = {"PyTorch": f"{torch.__version__}, CUDA {torch.version.cuda}, cuBLAS, float32 without TF32" if on_card
                 else f"{torch.__version__}, {blas_of_torch(torch)}"}
    results = {"kind": arguments.device, "machine": torch.cuda.get_device_name() if on_card else "a CPU, to try it out",
               "libraries": libraries, "rounds": arguments.rounds, "seconds": time.perf_counter() - start,
               "collections": contest.collections_in_json(collections),
               "rows": contest.rows_of(rounds, names, collections), "missing": missing_of(arguments.no_compile),
               "agreement": agreement}
    contest.print_results(results)
    contest.save(arguments.out / "peers.json", results)
    (arguments.out / "peers.md").write_text(contest.markdown(results) + "\n")
    print(f"\n{time.perf_counter() - start:.0f} s in all; {arguments.out}/peers.json and peers.md", flush=True)
    contest.check_agreement(agreement, [name for name, *_ in names if name != Loop.name])


if __name__ == "__main__":
    main()
