"""What a call from Python costs above the same work in C++, in one process and in turns: the best of many short rounds.

    PYTHONPATH=build/release/python /usr/bin/python3 python/benchmarks/overhead.py
"""

import time

import numpy as np

import diml
from diml import _diml, _inputs


def best(work, rounds):
    return min(work() for _ in range(rounds))


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def unit(x):
    return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)


def one_pair(rng, cells=16, dim=128, calls=20, rounds=500):
    a, b = unit(rng.normal(size=(cells, dim))), unit(rng.normal(size=(cells, dim)))
    source, target = _inputs.one_grid(a)[0], _inputs.one_grid(b)[0]

    def python():
        return timed(lambda: [diml.match(a, b) for _ in range(calls)]) / calls

    ours, theirs = [], []
    for _ in range(rounds):  # in turns: a busy machine slows both
        ours.append(python())
        theirs.append(_diml.seconds_of_match(source, target, calls))
    return 1e6 * min(ours), 1e6 * min(theirs)


def batch(rng, sources=100, targets=1000, rounds=15):
    A, B = unit(rng.normal(size=(sources, 16, 128))), unit(rng.normal(size=(targets, 16, 128)))
    first, second = _inputs.grids(A), _inputs.grids(B)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(timed(lambda: diml.similarity(A, B)))
        theirs.append(_diml.seconds_of_scores(first, second))
    return min(ours), min(theirs)


diml.set_threads(1)  # so that a busy machine disturbs it less
rng = np.random.default_rng(0)
python, cpp = one_pair(rng)
print(f"match() of one pair, 16 x 128: {python:.1f} us, in C++ {cpp:.1f} us: {python - cpp:.1f} us more")
python, cpp = batch(rng)
print(f"similarity() of 100,000 pairs, 16 x 128: {python:.3f} s, in C++ {cpp:.3f} s: {100 * (python / cpp - 1):+.1f} %")
