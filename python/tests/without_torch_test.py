"""NumPy is all that the package needs: everything else is blocked here, and what needs it says so."""

import subprocess
import sys
import unittest

PROGRAM = """
import sys
BLOCKED = ("torch", "faiss", "tqdm", "pandas", "sklearn", "scipy", "PIL", "ml_dtypes")
for name in BLOCKED:
    sys.modules[name] = None  # cannot be imported

import numpy as np
import diml

assert all(sys.modules[name] is None for name in BLOCKED)
cells = np.random.default_rng(0).normal(size=(12, 9, 16))
labels = np.repeat(list("abc"), 4)
assert diml.similarity(cells, cells, progress=True).shape == (12, 12)
assert diml.match(cells[0], cells[1]).plan.shape == (9, 9)
assert diml.evaluate(cells, None, labels, rerank=(0, 5)).queries == 12
assert diml.Retriever(cells).search(cells, 3)[1][:, 0].tolist() == list(range(12))
assert diml.rerank(cells[3], cells, [1, 3], k=1)[1].tolist() == [3]
knn = diml.StructuralKNeighbors(1).fit(cells, labels)
assert knn.score(cells, labels) == 1.0
for name in ("torch", "pml"):
    try:
        getattr(diml, name)
    except ImportError as error:
        assert "torch" in str(error), error
    else:
        raise SystemExit(f"diml.{name} is there without PyTorch")
print("fine")
"""


class Alone(unittest.TestCase):
    def test_the_package_works_with_numpy_alone(self):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "fine"), done.stderr)


if __name__ == "__main__":
    unittest.main()
