"""POT's ot.sinkhorn on the same candidates: float64, one pair per call, as in normal use. Prints pairs per second as
JSON.

    /usr/bin/python3 pot_sinkhorn.py --cells C.npy --globals V.npy --candidates I.npy [--queries 5]

I.npy: int64 [queries, K], the candidates of query q = 0, 1, 2, ... in the rows of C.
"""
import argparse
import json
import time

import numpy as np
import ot

from libraries import blas_of_this_process

LAMBDA = 0.05
TOLERANCE = 1e-4
MOST_ITERATIONS = 1000
WARM_UP = 20  # pairs


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def cross_correlation(cells, other_global):
    weights = np.maximum(cells @ other_global, 0.0)
    total = weights.sum()
    return weights / total if total > 0.0 else np.full(len(cells), 1.0 / len(cells))


def structural_similarity(source, source_global, target, target_global):
    """source: [R_s, D]; target: [R_t, D]. Returns the score and the iterations it took."""
    source_marginal = cross_correlation(source, target_global)
    target_marginal = cross_correlation(target, source_global)
    # ot.sinkhorn divides by the marginal: cells without mass must be left out.
    rows, cols = source_marginal > 0.0, target_marginal > 0.0
    similarity = source[rows] @ target[cols].T
    plan, log = ot.sinkhorn(source_marginal[rows], target_marginal[cols], 1.0 - similarity, LAMBDA,
                            stopThr=TOLERANCE, numItermax=MOST_ITERATIONS, log=True)
    return (plan * similarity).sum(), log["niter"] + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", required=True)
    parser.add_argument("--globals", required=True, dest="global_vectors")
    parser.add_argument("--candidates", required=True)
    parser.add_argument("--queries", type=int, default=5)
    parser.add_argument("--scores", help="write the scores here, float64 [queries, K]")
    arguments = parser.parse_args()

    cells = unit(np.load(arguments.cells).astype(np.float64))
    global_vectors = unit(np.load(arguments.global_vectors).astype(np.float64))
    candidates = np.load(arguments.candidates)[: arguments.queries]
    pairs = [(q, target) for q, ids in enumerate(candidates) for target in ids]

    def match(pair):
        source, target = pair
        return structural_similarity(cells[source], global_vectors[source], cells[target], global_vectors[target])

    for pair in pairs[:WARM_UP]:
        match(pair)
    start = time.perf_counter()
    scores, iterations = zip(*map(match, pairs))
    seconds = time.perf_counter() - start
    if arguments.scores:
        np.save(arguments.scores, np.reshape(scores, candidates.shape))
    print(json.dumps({"pairs_per_second": len(pairs) / seconds, "iterations": float(np.mean(iterations)),
                      "runs_on": f"POT {ot.__version__}, NumPy {np.__version__}, {blas_of_this_process()}"}))


if __name__ == "__main__":
    main()
