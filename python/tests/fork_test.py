"""Processes that fork: OpenMP's threads stay behind, and calls in the child must not wait for them."""

import os
import subprocess
import sys
import tempfile
import unittest

import diml

BEGIN = """
import multiprocessing
import sys
import threading
import numpy as np
import diml

A = np.random.default_rng(0).normal(size=(60, 16, 32)).astype(np.float32)
diml.set_threads(2)
wanted = diml.similarity(A, A)  # a team of two threads has worked

def in_child(work):
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    child = fork.Process(target=lambda: answers.put(work()))
    child.start()
    try:
        return answers.get(timeout=60)
    finally:
        child.kill()

def right():
    return bool((diml.similarity(A, A) == wanted).all())
"""


class Forked(unittest.TestCase):
    def run_program(self, program, *arguments):
        done = subprocess.run([sys.executable, "-c", BEGIN + program, *arguments], capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "True"), done.stderr)

    def test_a_child_matches_after_its_parent_has(self):
        self.run_program("print(in_child(right) and right())")

    def test_a_thread_of_the_child_has_a_team_of_its_own(self):
        self.run_program("""
def in_a_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(right()))
    thread.start()
    thread.join()
    return found[0] and right()

print(in_child(in_a_thread))
""")

    def test_a_child_of_a_child_matches(self):
        self.run_program("print(in_child(lambda: right() and in_child(right)))")

    def test_workers_of_a_data_loader_match(self):
        try:
            import torch  # noqa: F401
        except ImportError:
            self.skipTest("PyTorch is not there: install python3-torch")
        self.run_program("""
import torch

torch.set_num_threads(2)
product = torch.from_numpy(A.reshape(960, 32)) @ torch.from_numpy(A.reshape(960, 32)).t()

class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return diml.similarity(A[15 * i:15 * i + 15], A)

rows = torch.utils.data.DataLoader(Rows(), num_workers=2, multiprocessing_context="fork", timeout=60)
print(bool((torch.cat([row[0] for row in rows]).numpy() == wanted).all()))
""")

    @unittest.skipUnless(diml.features()["gallery"], "this build has no galleries")
    def test_galleries_and_embedders_of_the_parent_are_refused_and_the_childs_own_work(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_program("""
import os

folder = sys.argv[1]
diml.write_model(os.path.join(folder, "small.safetensors"), dim=16)
photos = [np.random.default_rng(i).integers(0, 256, (70, 80, 3), np.uint8) for i in range(4)]
e = diml.Embedder(os.path.join(folder, "small.safetensors"))
g = diml.Gallery(os.path.join(folder, "g"), shape=(16, 16))
embedded = e(photos)
g.add(list("abcd"), cells=embedded.cells, globals=embedded.globals)

def refused(call):
    try:
        call()
    except diml.Conflict as error:
        return "fork" in str(error)
    return False

def own():
    if not (refused(lambda: e(photos)) and refused(lambda: g.search(1))):
        return False
    again = diml.Embedder(os.path.join(folder, "small.safetensors"))(photos)
    same = again.cells.tobytes() == embedded.cells.tobytes()
    with diml.Gallery(os.path.join(folder, "g"), mode="r") as mine:
        return same and mine.search(again, k=1)[2][0]["path"] == "c"

print(in_child(own) and len(g) == 4)
""", folder)


if __name__ == "__main__":
    unittest.main()
