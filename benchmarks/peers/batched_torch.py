"""What an experienced PyTorch user would write: the candidates of many queries in one tensor, all operations on all pairs at once,
and torch.compile where there is one. Prints pairs per second as JSON.

    /usr/bin/python3 batched_torch.py --cells C.npy --globals V.npy --candidates I.npy [--queries 200] [--threads 2]
                                      [--device cuda] [--precision float16] [--compile]

I.npy: int64 [queries, K], the candidates of query q = 0, 1, 2, ... in the rows of C.

A chunk of queries is matched until the mean L1 marginal error of its pairs is below the tolerance, looked at every
fourth iteration, and first where the chunk before it was nearly done. The slowest pairs of a chunk are then less exact
than the tolerance. Which form of the products and which size of a chunk is fastest is found before the clock starts.
Gathering the candidates' cells is part of the time; the normalised collection and the list of candidates are there.
"""
import argparse
import functools
import json
import time
import types
from dataclasses import dataclass

import numpy as np
import torch

from libraries import blas_of_torch

LAMBDA = 0.05
TOLERANCE = 1e-4
MOST_ITERATIONS = 1000
STEP = 4  # iterations between two checks of the error
CHUNKS = {"cpu": (1, 2, 4, 8, 16, 32, 64), "cuda": (128, 256, 512, 1024, 2048)}  # queries
SEARCH_PAIRS = {"cpu": 800, "cuda": 200_000}  # to compare forms and sizes with; one chunk at least


@dataclass(frozen=True)
class Collection:
    """Prepared once. The first rows are the queries."""
    cells: torch.Tensor  # [N, R, D]
    sources: torch.Tensor  # [N, R + 1 and more, D]: the cells, the global, zeros up to a width that is fast on a GPU
    global_vectors: torch.Tensor  # [N, D]

    @staticmethod
    def prepared(cells, global_vectors, device, precision):
        cells = torch.nn.functional.normalize(cells.to(device), dim=2)
        global_vectors = torch.nn.functional.normalize(global_vectors.to(device), dim=1)
        size, count, dim = cells.shape
        width = count + 1 if device == "cpu" else (count + 8) // 8 * 8
        sources = torch.zeros(size, width, dim, device=device)
        sources[:, :count] = cells
        sources[:, count] = global_vectors
        return Collection(cells.to(precision), sources.to(precision), global_vectors.to(precision))


def product(a, b):
    """Batched, its result in float32: rounded to 16 bits it would cost exp(S / lambda) one per cent."""
    if a.dtype == torch.float32:
        return torch.bmm(a, b)
    try:
        return torch.bmm(a, b, out_dtype=torch.float32)
    except (TypeError, RuntimeError, NotImplementedError):  # before torch 2.8, or not on this device
        return torch.bmm(a, b).float()


def gathered(collection, first, candidates):
    """Similarities [pairs, R, R] with rows of the candidate, and the weights [pairs, R] of both sides."""
    queries, depth = candidates.shape
    _, count, dim = collection.cells.shape
    ids = candidates.reshape(-1)
    sources = collection.sources[first:first + queries].transpose(1, 2)
    targets = collection.cells.index_select(0, ids).view(queries, depth * count, dim)
    target_globals = collection.global_vectors.index_select(0, ids).view(queries, depth, dim)
    both = product(targets, sources).view(queries * depth, count, -1)
    source_weights = product(target_globals, sources[:, :, :count]).view(-1, count)
    return both[:, :, :count], both[:, :, count], source_weights


def marginal(weights, dim):
    weights = weights.relu()
    return weights / weights.sum(dim=dim, keepdim=True).clamp_min(1e-12)


class PairsFirst:
    """Tensors [pairs, R, R]; products of matrices and vectors by bmm."""
    name = "bmm"

    @staticmethod
    def begin(similarity, row_weights, col_weights):
        similarity = similarity.contiguous()
        kernel = torch.exp((similarity - 1.0) / LAMBDA)
        rows, cols = marginal(row_weights, 1), marginal(col_weights, 1)
        return similarity, kernel, rows, cols, torch.ones_like(rows), torch.ones_like(cols)

    @staticmethod
    def iterate(kernel, rows, cols, a, b):
        for step in range(STEP):
            sums = torch.bmm(kernel, b[:, :, None])[:, :, 0]
            if step == STEP - 1:
                error = (a * sums - rows).abs().sum(dim=1).mean()
            a = rows / sums
            b = cols / torch.bmm(a[:, None, :], kernel)[:, 0, :]
        return a, b, error

    @staticmethod
    def score(similarity, kernel, a, b):
        return (torch.bmm(kernel * similarity, b[:, :, None])[:, :, 0] * a).sum(dim=1)


class PairsLast:
    """Tensors [R, R, pairs]: whatever the size of a grid, the innermost loop runs over pairs."""
    name = "sum, pairs last"

    @staticmethod
    def begin(similarity, row_weights, col_weights):
        similarity = similarity.permute(1, 2, 0).contiguous()
        kernel = torch.exp((similarity - 1.0) / LAMBDA)
        rows = marginal(row_weights.t().contiguous(), 0)
        cols = marginal(col_weights.t().contiguous(), 0)
        return similarity, kernel, rows, cols, torch.ones_like(rows), torch.ones_like(cols)

    @staticmethod
    def iterate(kernel, rows, cols, a, b):
        room = torch.empty_like(kernel)  # fresh memory for each product would cost more than the product
        for step in range(STEP):
            sums = torch.mul(kernel, b[None, :, :], out=room).sum(dim=1)
            if step == STEP - 1:
                error = (a * sums - rows).abs().sum(dim=0).mean()
            a = rows / sums
            b = cols / torch.mul(kernel, a[:, None, :], out=room).sum(dim=0)
        return a, b, error

    @staticmethod
    def score(similarity, kernel, a, b):
        return ((kernel * similarity * b[None, :, :]).sum(dim=1) * a).sum(dim=0)


class PairsLastByRows(PairsLast):
    """As PairsLast; each sum is added up term by term, and no product is ever stored."""
    name = "addcmul, pairs last"

    @staticmethod
    def iterate(kernel, rows, cols, a, b):
        for step in range(STEP):
            sums = kernel[:, 0] * b[0]
            for j in range(1, kernel.shape[1]):
                sums.addcmul_(kernel[:, j], b[j])
            if step == STEP - 1:
                error = (a * sums - rows).abs().sum(dim=0).mean()
            a = rows / sums
            sums = kernel[0] * a[0]
            for i in range(1, kernel.shape[0]):
                sums.addcmul_(kernel[i], a[i])
            b = cols / sums
        return a, b, error


class FusedPairsLast(PairsLast):
    """For torch.compile, which makes one loop of a product and its sum."""
    name = "fused, pairs last"
    pair_dimension = -1

    @staticmethod
    def iterate(kernel, rows, cols, a, b):
        for step in range(STEP):
            sums = (kernel.float() * b[None, :, :]).sum(dim=1)
            if step == STEP - 1:
                error = (a * sums - rows).abs().sum(dim=0).mean()
            a = rows / sums
            b = cols / (kernel.float() * a[:, None, :]).sum(dim=0)
        return a, b, error

    @staticmethod
    def score(similarity, kernel, a, b):
        return ((kernel.float() * similarity * b[None, :, :]).sum(dim=1) * a).sum(dim=0)


class FusedPairsFirst(PairsFirst):
    name = "fused, pairs first"
    pair_dimension = 0

    @staticmethod
    def iterate(kernel, rows, cols, a, b):
        for step in range(STEP):
            sums = (kernel.float() * b[:, None, :]).sum(dim=2)
            if step == STEP - 1:
                error = (a * sums - rows).abs().sum(dim=1).mean()
            a = rows / sums
            b = cols / (kernel.float() * a[:, :, None]).sum(dim=1)
        return a, b, error

    @staticmethod
    def score(similarity, kernel, a, b):
        return ((kernel.float() * similarity * b[:, None, :]).sum(dim=2) * a).sum(dim=1)


def in_16_bits(begin, row_dim, col_dim):
    """The kernel as float16, half of what an iteration reads. Rows and columns are scaled to a largest entry of 1,
    which changes the scalings and not the plan: what is rounded then hardly counts."""
    def begin_in_16_bits(similarity, row_weights, col_weights):
        similarity, _, *rest = begin(similarity, row_weights, col_weights)
        shifted = similarity - similarity.amax(dim=col_dim, keepdim=True)
        shifted = shifted - shifted.amax(dim=row_dim, keepdim=True)
        return (similarity, torch.exp(shifted / LAMBDA).half(), *rest)
    return begin_in_16_bits


def compiled(function, dynamic):
    # A code object of its own: torch.compile would find what was made for any size, and make nothing for this one.
    own = types.FunctionType(function.__code__.replace(), function.__globals__, function.__name__, None,
                             function.__closure__)
    return torch.compile(own, dynamic=dynamic)


class Compiled:
    """A form whose three parts went through torch.compile, for chunks of any size or made for one of them. The product
    before them is the BLAS's either way."""

    def __init__(self, form, precision, any_size):
        self.form, self.precision, self.any_size = form, precision, any_size
        self.name = form.name if any_size else f"{form.name}, one size"
        begin = form.begin
        if precision != torch.float32:
            self.name += ", float16 kernel"
            begin = in_16_bits(begin, *((0, 1) if form.pair_dimension else (1, 2)))
        self.parts = [compiled(part, None if any_size else False) for part in (begin, form.iterate, form.score)]

    def call(self, part, dimension, tensors):
        for tensor in tensors if self.any_size else ():
            torch._dynamo.mark_dynamic(tensor, dimension % tensor.dim())
        return self.parts[part](*tensors)

    def begin(self, *tensors):
        return self.call(0, 0, tensors)

    def iterate(self, *tensors):
        return self.call(1, self.form.pair_dimension, tensors)

    def score(self, *tensors):
        return self.call(2, self.form.pair_dimension, tensors)


def can_compile():
    return hasattr(torch, "compile")


@functools.lru_cache
def compiled_form(form, precision, chunk=None):
    """chunk: the one size it is for; None: any. Kept, since making it takes seconds."""
    # Beyond its limit torch.compile silently continues uncompiled.
    for name in ("recompile_limit", "cache_size_limit"):
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, 64)
    return Compiled(form, precision, any_size=chunk is None)


def forms(precision, compile_them):
    if compile_them:
        return tuple(compiled_form(form, precision) for form in (FusedPairsLast, FusedPairsFirst))
    return (PairsFirst, PairsLast, PairsLastByRows)


class Batched:
    """One form with one size of chunks, on one collection."""

    def __init__(self, collection, form, chunk):
        self.collection, self.form, self.chunk = collection, form, chunk
        self.first_look = STEP  # where the previous chunk had nearly converged

    def match_chunk(self, first, candidates):
        similarity, kernel, rows, cols, a, b = self.form.begin(*gathered(self.collection, first, candidates))
        done = 0
        while done < MOST_ITERATIONS:
            a, b, error = self.form.iterate(kernel, rows, cols, a, b)
            done += STEP
            if done >= self.first_look and error.item() < TOLERANCE:
                break
        self.first_look = max(STEP, done - STEP)
        return self.form.score(similarity, kernel, a, b), done

    def match(self, candidates):
        """candidates: [queries, K]. Returns [queries * K], seconds and the mean iterations of a pair's chunk."""
        scores, iterations = [], 0
        synchronise(candidates.device)
        start = time.perf_counter()
        for first in range(0, len(candidates), self.chunk):
            some = candidates[first:first + self.chunk]
            chunk_scores, count = self.match_chunk(first, some)
            scores.append(chunk_scores)
            iterations += count * len(some)
        synchronise(candidates.device)
        return torch.cat(scores), time.perf_counter() - start, iterations / len(candidates)


def synchronise(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def some_of(candidates, chunk):
    """Enough whole chunks for a comparison."""
    enough = SEARCH_PAIRS[candidates.device.type] // candidates.shape[1]
    return candidates[:max(chunk, enough // chunk * chunk)]


def tried(batched, candidates):
    """Pairs per second after a warm-up."""
    some = some_of(candidates, batched.chunk)
    batched.match(some[:batched.chunk])
    return some.numel() / batched.match(some)[1]


def fastest(collection, candidates, compile_it):
    """Tries forms and sizes of chunks on the first queries: a Batched, warmed up. A form is given up at the second size
    in a row that does not help."""
    best, best_rate = None, 0.0
    for form in forms(collection.cells.dtype, compile_it):
        form_rate, worse = 0.0, 0
        for chunk in CHUNKS[candidates.device.type]:
            if worse == 2 or chunk > len(candidates):
                break
            batched = Batched(collection, form, chunk)
            rate = tried(batched, candidates)
            worse = worse + 1 if rate < form_rate else 0
            form_rate = max(form_rate, rate)
            if rate > best_rate:
                best, best_rate = batched, rate
    if compile_it:
        form = compiled_form(best.form.form, collection.cells.dtype, best.chunk)
        for_one_size = Batched(collection, form, best.chunk)
        if tried(for_one_size, candidates) > best_rate:
            best = for_one_size
    if len(candidates) % best.chunk:
        best.match(candidates[:len(candidates) % best.chunk])  # the last chunk is a size of its own
    return best


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", required=True)
    parser.add_argument("--globals", required=True, dest="global_vectors")
    parser.add_argument("--candidates", required=True)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("float32", "float16", "bfloat16"), default="float32",
                        help="of the cells; 16 bits on a card only")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--scores", help="write the scores here, float32 [queries, K]")
    arguments = parser.parse_args()
    if arguments.device == "cpu" and arguments.precision != "float32":
        parser.error("--precision float16 and bfloat16 are for --device cuda")
    if arguments.compile and not can_compile():
        parser.error(f"torch {torch.__version__} has no torch.compile: it came with 2.0")
    return arguments


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    collection = Collection.prepared(torch.from_numpy(np.load(arguments.cells)),
                                     torch.from_numpy(np.load(arguments.global_vectors)),
                                     arguments.device, getattr(torch, arguments.precision))
    candidates = torch.from_numpy(np.load(arguments.candidates))[: arguments.queries].to(arguments.device)
    with torch.no_grad():
        batched = fastest(collection, candidates, arguments.compile)
        scores, seconds, iterations = batched.match(candidates)
    if arguments.scores:
        np.save(arguments.scores, scores.reshape(candidates.shape).cpu().numpy())
    where = blas_of_torch(torch) if arguments.device == "cpu" else torch.cuda.get_device_name()
    print(json.dumps({"pairs_per_second": candidates.numel() / seconds, "iterations": iterations,
                      "chunk": batched.chunk, "form": batched.form.name,
                      "runs_on": f"torch {torch.__version__}, {where}"}))


if __name__ == "__main__":
    main()
