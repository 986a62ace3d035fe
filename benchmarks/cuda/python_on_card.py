"""Pairs per second of diml on tensors of a GPU, beside cuda_ladder's, and every copy between host and device.

The exit status is 1, with a line for each fault, where a rate is below 95 % of cuda_ladder's or is not in its output, where
scores differ from the reference, or where anything but control numbers is copied: similarity() and searches read back whether
all vectors have length 1, the least and largest index, and whether a list has gaps; a step of training reads nothing.

python.sh runs it. Without a card, `--device cpu --grids 500` goes the same way, without figures that mean anything.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import statistics
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

import diml
import diml.torch
from diml import _diml, _settings, _tensors

WARM_UPS, RUNS = 3, 9
LEAST_SHARE = 0.95    # of cuda_ladder's rate
CONTROL_BYTES = 64    # of one copy to the host
faults = []           # lines
# Lines of the ladder: the kernels that matching uses.
LADDER = {(4, "float32"): "eight pairs a warp", (4, "float16"): "eight pairs a warp", (4, "bfloat16"): "eight pairs a warp",
          (7, "float32"): "two warps a pair", (7, "float16"): "two warps a pair"}


def ladder_rates(path):
    """{(side, type): million pairs/s} of cuda_ladder's output."""
    rates, at = {}, None
    with open(path) as file:
        for line in file:
            title = re.match(r"(\d+)x\d+x128 (\w+),", line)
            if title:
                at = (int(title[1]), title[2])
            elif at in LADDER and line.startswith(LADDER[at]):
                rates[at] = float(re.split(r"\s{2,}", line.strip())[3])
    return rates


def seconds_of(work, device):
    """Median seconds of a call, to the end of its work on the device."""
    found = []
    for run in range(WARM_UPS + RUNS):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        if run >= WARM_UPS:
            found.append(time.perf_counter() - start)
    return statistics.median(found)


class Problem:
    """cuda_ladder's: generated grids, each against random others."""

    def __init__(self, grids, candidates, side, dtype, device):
        cells, vectors, _ = _diml.generated(grids, max(1, grids // 5), side)
        self.cells = _tensors.unit(torch.from_numpy(cells).to(device).to(dtype))
        self.vectors = torch.from_numpy(vectors).to(device)
        sources = torch.arange(grids, device=device).repeat_interleave(candidates)
        generator = torch.Generator(device=device).manual_seed(1)
        self.pairs = torch.stack([sources, torch.randint(0, grids, sources.shape, device=device, generator=generator)], 1)
        self.params = _settings.params("cross_correlation", 0.05, 1e-4, 1000)

    def kernel(self):
        grids = _tensors.Grids(self.cells, self.vectors)
        return _tensors.match(grids, grids, self.params, pairs=self.pairs)[0]

    def similarity(self):
        return diml.similarity(self.cells, self.cells, self.pairs, globals=(self.vectors, self.vectors))

    def largest_error(self):
        """Of some pairs against the reference in double precision."""
        some = self.pairs[::max(1, len(self.pairs) // 1000)]
        own = diml.similarity(self.cells, self.cells, some, globals=(self.vectors, self.vectors)).cpu()
        ids, places = torch.unique(some, return_inverse=True)
        cells, vectors = self.cells[ids].float().cpu().numpy(), self.vectors[ids].cpu().numpy()
        wanted = diml.similarity(cells, cells, places.view(-1, 2).cpu().numpy(), globals=(vectors, vectors),
                                 backend="reference")
        return float((own - torch.from_numpy(wanted)).abs().max())


def rate_line(name, pairs, seconds, ladder, is_gate):
    if is_gate and not ladder:
        faults.append(f"{name}: cuda_ladder's output has no rate to compare with")
    elif is_gate and pairs / seconds / 1e6 < LEAST_SHARE * ladder:
        faults.append(f"{name}: {pairs / seconds / 1e6:.1f} M pairs/s are {pairs / seconds / 1e4 / ladder:.1f} % of "
                      f"cuda_ladder's {ladder:.1f}, at least {100 * LEAST_SHARE:.0f} % are wanted")
    beside = f"{pairs / seconds / 1e6 / ladder * 100:8.1f} %" if ladder else "       -"
    print(f"  {name:54s} {seconds * 1e3:10.3f} ms {pairs / seconds / 1e6:10.1f} M pairs/s {beside}")
    return {"name": name, "pairs": pairs, "seconds": seconds, "ladder_m_pairs_per_s": ladder}


def matching(args, ladder):
    rows = []
    print(f"matching, {args.grids} grids ({args.grids} x 100 random pairs, 7x7: x 10); % of cuda_ladder's rate")
    for (side, name) in LADDER:
        problem = Problem(args.grids, 100 if side == 4 else 10, side, getattr(torch, name), args.device)
        error = problem.largest_error()
        limit = {"float32": 1e-4, "float16": 1e-4, "bfloat16": 1e-3}[name]
        print(f"{side}x{side}x128 {name}: {len(problem.pairs)} pairs, largest error {error:.1e}")
        if not error < limit:
            faults.append(f"{side}x{side} {name}: the scores differ from the reference by {error}: not timed")
            continue
        for what, work in (("the matcher alone, on checked tensors", problem.kernel),
                           ("diml.similarity(cells, cells, pairs)", problem.similarity)):
            rows.append({"side": side, "type": name} |
                        rate_line(f"{what}, {side}x{side} {name}", len(problem.pairs), seconds_of(work, args.device),
                                  ladder.get((side, name)), is_gate=args.device == "cuda" and args.ladder is not None))
        del problem
    return rows


def overheads(args):
    """What a small call and a step of training cost."""
    rows = []
    problem = Problem(min(args.grids, 112), 1, 4, torch.float32, args.device)
    sim = diml.torch.StructuralSimilarity()

    def step():
        cells = problem.cells.detach().requires_grad_()
        sim(cells, cells, (problem.vectors, problem.vectors), "all").sum().backward()

    unrolled = diml.torch.StructuralSimilarity("unrolled", max_iterations=30)

    def unrolled_step():
        cells = problem.cells.detach().requires_grad_()
        unrolled(cells, cells, (problem.vectors, problem.vectors), "all").sum().backward()

    one = problem.cells[:1]
    for name, work in (("similarity of one pair", lambda: diml.similarity(one, one)),
                       ("module, forward and backward, 112 x 112 pairs", step),
                       ("the same, unrolled", unrolled_step)):
        seconds = seconds_of(work, args.device)
        print(f"  {name:48s} {seconds * 1e3:10.3f} ms")
        rows.append({"name": name, "seconds": seconds})
    return rows


def copies(args):
    """Every copy between host and device of calls on a whole set, from PyTorch's profiler."""
    problem = Problem(args.grids, 100, 4, torch.float32, args.device)
    grid_bytes = problem.cells.numel() * 4
    print(f"copies between host and device; the cells are {grid_bytes / 1e6:.1f} MB")
    retriever = diml.Retriever(problem.cells, problem.vectors)
    sim = diml.torch.StructuralSimilarity()

    def step():
        cells = problem.cells[:112].clone().requires_grad_()
        sim(cells, cells, pairs="all").sum().backward()

    # What is called, the bytes of one copy that may cross, and whether a kernel of ours must be seen.
    calls = {"a copy of the cells, which must be seen": (problem.cells.cpu, grid_bytes, False),
             "similarity": (problem.similarity, CONTROL_BYTES, True),
             "Retriever.search, 8192 queries": (lambda: retriever.search(problem.cells[:8192], 10,
                                                                         globals=problem.vectors[:8192]),
                                                CONTROL_BYTES, True),
             "StructuralSimilarity, forward and backward": (step, 0, True)}
    found = {}
    for name, (work, most, has_kernel) in calls.items():
        work()
        with profile(activities=[ProfilerActivity.CPU] +
                     ([ProfilerActivity.CUDA] if args.device == "cuda" else [])) as seen:
            work()
            if args.device == "cuda":
                torch.cuda.synchronize()
        path = os.path.join(args.out, "trace.json")
        seen.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)
        events = events["traceEvents"] if isinstance(events, dict) else events
        crossed = [(e["name"], int(e["args"]["bytes"])) for e in events
                   if e.get("cat") == "gpu_memcpy" and ("HtoD" in e["name"] or "DtoH" in e["name"])]
        kernels = sorted({e["name"].split("<")[0] for e in events if e.get("cat") == "kernel" and "diml" in e["name"]})
        found[name] = crossed
        print(f"  {name}: {len(crossed)} copies, {sum(size for _, size in crossed)} bytes, the largest "
              f"{max([size for _, size in crossed], default=0)}; kernels of diml: {kernels}")
        if args.device != "cuda":
            continue
        for kind, size in crossed:
            if size > most or (has_kernel and "HtoD" in kind):
                faults.append(f"{name}: {size} bytes were copied ({kind})")
        if has_kernel and not kernels:
            faults.append(f"{name}: the profiler saw no kernel of diml, so it says nothing")
        if not has_kernel and grid_bytes not in [size for _, size in crossed]:
            faults.append(f"the profiler did not see a copy of {grid_bytes} bytes, so it says nothing")
    if args.device == "cuda":
        with open(path, "rb") as plain, gzip.open(path + ".gz", "wb") as packed:
            shutil.copyfileobj(plain, packed)
    os.remove(path)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ladder", help="what cuda_ladder printed")
    parser.add_argument("--out", default=".")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--grids", type=int, default=60502)
    args = parser.parse_args()
    if args.device == "cuda":
        if not (torch.cuda.is_available() and diml.features()["cuda"]):
            sys.exit("no GPU, or diml was built without CUDA")
        torch.backends.cuda.matmul.allow_tf32 = False
        print(torch.cuda.get_device_name(), "torch", torch.__version__)
    ladder = ladder_rates(args.ladder) if args.ladder else {}
    results = {"torch": torch.__version__, "grids": args.grids, "matching": matching(args, ladder),
               "overheads": overheads(args), "copies": copies(args)}
    with open(os.path.join(args.out, "python.json"), "w") as file:
        json.dump(results | {"faults": faults}, file, indent=1)
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
