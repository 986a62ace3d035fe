"""Re-ranking the hits of another index: FAISS's shapes in, FAISS's shapes out."""

import numpy as np

import diml

rng = np.random.default_rng(0)
labels = np.repeat(np.arange(50), 10)
kinds = rng.normal(size=(50, 16, 64))
cells = (kinds[labels] + 2.5 * rng.normal(size=(500, 16, 64))).astype(np.float32)
cells /= np.linalg.norm(cells, axis=2, keepdims=True)  # length 1: then they are used where they lie
globals = cells.mean(1)
globals /= np.linalg.norm(globals, axis=1, keepdims=True)
queries = slice(0, 500, 10)  # the first of each class

try:
    import faiss

    index = faiss.IndexFlatIP(64)
    index.add(globals)
    distances, ids = index.search(np.ascontiguousarray(globals[queries]), 50)
except ImportError:  # any index with this shape of answers does: int64 [Q, depth], -1 for none
    ids = np.argsort(-globals[queries] @ globals.T, axis=1)[:, :50]

scores, better = diml.rerank(cells[queries], cells, ids, k=10, globals=(globals[queries], globals))


def right(found):  # of the nine others of the class, how many are among the first ten
    return (labels[found[:, :10]] == np.arange(50)[:, None]).mean()


print(f"first search {right(ids):.3f}, re-ranked {right(better):.3f}; scores {scores.shape}, ids {better.shape}")
assert right(better) >= right(ids) and better[:, 0].tolist() == list(range(0, 500, 10))
