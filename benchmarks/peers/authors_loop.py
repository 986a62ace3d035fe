"""The authors' re-ranking, reimplemented in PyTorch: one query at a time, its candidates as one batch, Sinkhorn
until the scaling vectors of the whole batch hardly move. Prints pairs per second as JSON.

    /usr/bin/python3 authors_loop.py --cells C.npy --globals V.npy --candidates I.npy [--queries 200] [--threads 2] [--device cuda]

I.npy: int64 [queries, K], the candidates of query q = 0, 1, 2, ... in the rows of C.
"""
import argparse
import json
import time

import numpy as np
import torch

from libraries import blas_of_torch

LAMBDA = 0.05
MOST_ITERATIONS = 100
SCALING_CHANGE = 0.1  # the batch stops when the mean change of the row scalings falls below this


def transport_plan(kernel, source, target):
    rows, cols = torch.ones_like(source), torch.ones_like(target)
    for iteration in range(MOST_ITERATIONS):
        before = rows
        rows = source / (kernel @ cols[..., None])[..., 0]
        cols = target / (kernel.transpose(1, 2).contiguous() @ rows[..., None])[..., 0]
        if (rows - before).abs().mean().item() < SCALING_CHANGE:
            break
    return rows[..., None] * kernel * cols[:, None, :], iteration + 1


def correlation(cells, vector, spec):
    weights = torch.einsum(spec, cells, vector).relu()
    return weights / (weights.sum(dim=1, keepdim=True) + 1e-5)


def structural_similarity(query, query_global, cells, cell_globals):
    """query: [R, D]; cells: [K, R, D]. Returns [K] and the iterations that the batch took."""
    similarity = torch.einsum("jd,kid->kij", query, cells).contiguous()
    kernel = torch.exp((similarity - 1.0) / LAMBDA)
    candidate_marginal = correlation(cells, query_global, "kid,d->ki")
    query_marginal = correlation(query, cell_globals, "jd,kd->kj")
    plan, iterations = transport_plan(kernel, candidate_marginal, query_marginal)
    return (plan * similarity).sum(dim=(1, 2)), iterations


def rerank(cells, global_vectors, candidates):
    """candidates: [queries, K] of the first queries. Returns [queries, K], seconds and the mean iterations of a query."""
    scores, iterations = [], []
    start = time.perf_counter()
    for q, ids in enumerate(candidates):
        similarity, count = structural_similarity(cells[q], global_vectors[q], cells[ids], global_vectors[ids])
        scores.append(similarity)
        iterations.append(count)
    scores = torch.stack(scores)
    scores[-1, -1].item()  # waits for a card
    return scores, time.perf_counter() - start, sum(iterations) / len(iterations)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", required=True)
    parser.add_argument("--globals", required=True, dest="global_vectors")
    parser.add_argument("--candidates", required=True)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--scores", help="write the scores here, float32 [queries, K]")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    device = arguments.device
    cells = torch.nn.functional.normalize(torch.from_numpy(np.load(arguments.cells)).to(device), dim=2)
    global_vectors = torch.nn.functional.normalize(torch.from_numpy(np.load(arguments.global_vectors)).to(device), dim=1)
    candidates = torch.from_numpy(np.load(arguments.candidates))[: arguments.queries].to(device)
    with torch.no_grad():
        rerank(cells, global_vectors, candidates[:10])  # warms up
        scores, seconds, iterations = rerank(cells, global_vectors, candidates)
    if arguments.scores:
        np.save(arguments.scores, scores.cpu().numpy())
    where = blas_of_torch(torch) if device == "cpu" else torch.cuda.get_device_name()
    print(json.dumps({"pairs_per_second": candidates.numel() / seconds, "iterations": iterations,
                      "runs_on": f"torch {torch.__version__}, {where}"}))


if __name__ == "__main__":
    main()
