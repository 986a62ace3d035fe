"""Makes tests/golden/*.txt with POT in float64: Sinkhorn (log domain, run until it no longer changes) and exact transport.

    /usr/bin/python3 tools/make_golden.py

Needs Debian's python3-pot. The files are committed; run it again only to add cases.
A file holds one case: lines "name value", and arrays as "name count value value ...".
"""
import pathlib

import numpy as np
import ot

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"

# name, source cells, target cells, dimensions, lambda, marginals
CASES = [
    ("unequal_3x5_2x4", 15, 8, 24, 0.05, "cross_correlation"),
    ("unequal_3x5_2x4_uniform", 15, 8, 24, 0.05, "uniform"),
    ("unequal_2x4_3x5_smooth", 8, 15, 24, 0.5, "cross_correlation"),
    ("square_4x4_128", 16, 16, 128, 0.05, "cross_correlation"),
    ("square_4x4_sharp", 16, 16, 32, 0.01, "cross_correlation"),
    ("square_7x7", 49, 49, 16, 0.05, "cross_correlation"),
    ("wide_7x7_1x3", 49, 3, 17, 0.1, "cross_correlation"),
    ("one_cell_each", 1, 1, 5, 0.05, "cross_correlation"),
]


def grid(random, parts, cells, dim):
    """Cells that share some directions, so that the plan has structure, as float32 unit vectors."""
    mixture = random.random((cells, len(parts))) ** 4
    values = mixture @ parts + 0.15 * random.standard_normal((cells, dim))
    global_vector = values.mean(axis=0)
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    return unit.astype(np.float32), (global_vector / np.linalg.norm(global_vector)).astype(np.float32)


def marginal(other_global, cells, rule):
    if rule == "uniform":
        return np.full(len(cells), 1.0 / len(cells))
    weights = np.maximum(0.0, cells @ other_global)
    return weights / weights.sum()


def write_array(file, name, values):
    values = np.asarray(values).ravel()
    file.write(f"{name} {values.size} " + " ".join(repr(float(value)) for value in values) + "\n")


def make(seed, name, source_cells, target_cells, dim, regularisation, rule):
    random = np.random.default_rng(seed)
    parts = random.standard_normal((5, dim))
    source, source_global = grid(random, parts, source_cells, dim)
    target, target_global = grid(random, parts, target_cells, dim)
    s64, t64 = source.astype(np.float64), target.astype(np.float64)
    similarity = s64 @ t64.T
    cost = 1.0 - similarity
    mu = marginal(target_global.astype(np.float64), s64, rule)
    nu = marginal(source_global.astype(np.float64), t64, rule)
    plan = ot.bregman.sinkhorn(mu, nu, cost, regularisation, method="sinkhorn_log", stopThr=1e-15, numItermax=200000)
    assert np.abs(plan.sum(1) - mu).sum() < 1e-9 and np.abs(plan.sum(0) - nu).sum() < 1e-9, name
    exact = ot.emd(mu, nu, cost, numItermax=1000000)
    with open(FOLDER / f"{name}.txt", "w") as file:
        file.write(f"source_cells {source_cells}\ntarget_cells {target_cells}\ndim {dim}\n")
        file.write(f"lambda {regularisation}\nuniform {int(rule == 'uniform')}\n")
        for label, values in [
            ("source", source),
            ("source_global", source_global),
            ("target", target),
            ("target_global", target_global),
            ("source_marginal", mu),
            ("target_marginal", nu),
            ("plan", plan),
            ("score", [(plan * similarity).sum()]),
            ("distance", [(plan * np.sqrt(np.maximum(0.0, 2.0 - 2.0 * similarity))).sum()]),
            ("exact_cost", [(exact * cost).sum()]),
        ]:
            write_array(file, label, values)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for seed, case in enumerate(CASES):
        make(seed, *case)


if __name__ == "__main__":
    main()
