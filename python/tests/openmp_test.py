"""diml, torch and FAISS in one process: imported in any order they share one OpenMP runtime and keep their thread counts."""

import os
import subprocess
import sys
import unittest

PROGRAM = """
import {imports}
import numpy as np

def runtimes():
    with open("/proc/self/maps") as maps:
        return sorted({{line.split("/", 1)[1].strip().rsplit("/", 1)[1] for line in maps
                       if any(name in line for name in ("libgomp", "libomp", "libiomp"))}})

def threads():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))

A = np.random.default_rng(0).normal(size=(40, 16, 32)).astype(np.float32)
diml.set_threads(1)
one = diml.similarity(A, A)
diml.set_threads(3)
before = torch.get_num_threads()
torch.set_num_threads(2)
for _ in range(2):
    product = torch.from_numpy(A.reshape(640, 32)) @ torch.from_numpy(A.reshape(640, 32)).t()
    assert (diml.similarity(A, A) == one).all()
    index = faiss.IndexFlatIP(32)
    index.add(A[:, 0].copy())
    assert (index.search(A[:, 0].copy(), 3)[1] >= 0).all()
    assert torch.get_num_threads() == 2, torch.get_num_threads()
    assert diml.threads() == 3 and faiss.omp_get_max_threads() >= 1
assert threads() <= {most}, threads()
assert len(runtimes()) <= 1, runtimes()
print("fine", *runtimes())
"""


class OneRuntime(unittest.TestCase):
    def run_with(self, imports, most):
        code = PROGRAM.format(imports=", ".join(imports), most=most)
        environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}  # on a busy machine
        return subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    def test_imports_in_any_order_do_not_disturb_each_other(self):
        for name in ("torch", "faiss"):
            try:
                __import__(name)
            except ImportError:
                self.skipTest(f"{name} is not there: install python3-{name}")
        for imports in (("torch", "diml", "faiss"), ("diml", "faiss", "torch"), ("faiss", "torch", "diml")):
            ran = self.run_with(imports, most=16)
            self.assertEqual(ran.returncode, 0, (imports, ran.stdout))
            self.assertTrue(ran.stdout.startswith("fine"), (imports, ran.stdout))


if __name__ == "__main__":
    unittest.main()
