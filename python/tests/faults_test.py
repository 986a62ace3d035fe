"""Faults of disk and memory, from the file to the exception."""

import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import diml

RNG = np.random.default_rng(2)


def flipped(path, needle):
    """The file with one bit of the bytes `needle` changed; they are in it."""
    with open(path, "r+b") as file:
        data = file.read()
        place = data.index(needle) + len(needle) // 2
        file.seek(place)
        file.write(bytes([data[place] ^ 1]))


@unittest.skipUnless(diml.features()["gallery"], "this build has no galleries")
class Damage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_a_changed_bit_of_a_gallery_is_found(self):
        with diml.Gallery(self.path("g"), shape=(16, 64), type="float32") as g:
            g.add([f"n{i}" for i in range(5)], cells=RNG.normal(size=(5, 16, 64)))
            cells, _ = g.grids([3])
            self.assertEqual(g.verify()["damaged"], [])
        flipped(self.path("g/data.mdb"), cells[0, 7].tobytes())
        with diml.Gallery(self.path("g"), mode="r") as g:
            found = g.verify()
            self.assertEqual((found["damaged"], len(found["faults"])), ([3], 1))

    def test_a_gallery_and_a_model_that_are_no_such_files_are_damaged_or_refused(self):
        with diml.Gallery(self.path("g"), shape=(16, 64)) as g:
            g.add(["a"], cells=RNG.normal(size=(1, 16, 64)))
        with open(self.path("g/data.mdb"), "r+b") as file:
            file.write(b"\xff" * 8192)
        with self.assertRaises(diml.DamagedData) as seen:
            diml.Gallery(self.path("g"), mode="r")
        self.assertIsInstance(seen.exception, RuntimeError)
        self.assertIn(self.path("g"), str(seen.exception))


class Memory(unittest.TestCase):
    def test_memory_that_is_used_up_is_a_memory_error_and_the_next_call_works(self):
        program = """
import resource
import numpy as np
import diml

diml.set_threads(1)
cells = np.full((30_000, 16, 64), 0.25, np.float32)  # 123 MB
small = cells[:50].copy()
diml.similarity(small, small)
with open("/proc/self/status") as file:
    now = next(int(line.split()[1]) for line in file if line.startswith("VmSize")) * 1024
resource.setrlimit(resource.RLIMIT_AS, (now + 40_000_000, -1))
try:
    diml.Retriever(cells)  # its copy does not fit
except MemoryError as error:
    print("MemoryError")
try:
    diml.similarity(cells, cells)  # 3.6 GB of scores
except MemoryError as error:
    print("MemoryError")
print(diml.similarity(small, small).shape)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.split("\n")[:3]), (0, ["MemoryError", "MemoryError", "(50, 50)"]),
                         done.stderr)

    @unittest.skipUnless(diml.features()["gallery"], "this build has no galleries")
    def test_a_full_disk_is_out_of_resources(self):
        program = """
import os, resource, sys
import numpy as np
import diml

g = diml.Gallery(os.path.join(sys.argv[1], "g"), shape=(16, 64))
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, -1))  # as a disk that has no more room
try:
    g.add([str(i) for i in range(3000)], cells=np.random.default_rng(0).normal(size=(3000, 16, 64)))
except diml.OutOfResources as error:
    assert isinstance(error, MemoryError) and os.path.basename(g._path) in str(error), error
    print("OutOfResources")
"""
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "OutOfResources"), done.stderr)


if __name__ == "__main__":
    unittest.main()
