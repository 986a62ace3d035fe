"""FAISS finds candidates by their global vectors; diml orders them part by part. NumPy arrays and tensors alike.

    python3 08_rerank_tensors.py
"""

import faiss
import numpy as np
import torch

import diml


def main(classes=12, images=8, queries=16):
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(classes), images)
    # Six cells show the class, ten show something else, and more strongly: hard for the mean of all cells.
    parts = random.normal(size=(classes, 6, 32))
    own = parts[labels] + 0.5 * random.normal(size=(len(labels), 6, 32))
    cells = np.concatenate([own, 2.0 * random.normal(size=(len(labels), 10, 32))], 1).astype(np.float32)
    vectors = cells.mean(1)
    faiss.normalize_L2(vectors)

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    cosines, ids = index.search(vectors[:queries], 50)

    gallery = torch.from_numpy(cells)
    scores, best = diml.rerank(gallery[:queries], gallery, torch.from_numpy(ids), k=10,
                               globals=(torch.from_numpy(vectors[:queries]), torch.from_numpy(vectors)))
    # As FAISS has it: the query is in the gallery and finds itself first.
    before = (labels[ids[:, 1]] == labels[:queries]).mean()
    after = (labels[best[:, 1].numpy()] == labels[:queries]).mean()
    print(f"the nearest other image is of the same class: {100 * before:.0f} %, re-ranked {100 * after:.0f} %")
    return ids, scores, best


if __name__ == "__main__":
    main()
