"""Photos and a small network, for the tests."""

import glob
import os
import subprocess
import tempfile
import unittest

import diml

PROGRAM = os.environ.get("DIML_PROGRAM", "")
SMALL = {"resize": 72, "crop": 64}  # what the small network sees of a photo


class Photos(unittest.TestCase):
    """A folder with critters of 3 classes and a model, made once for each class of tests."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.model = os.path.join(cls.folder, "small.safetensors")
        diml.write_model(cls.model, dim=32, seed=1)
        diml.write_critters(os.path.join(cls.folder, "critters"), 3, 5, size=64)
        cls.paths = sorted(glob.glob(os.path.join(cls.folder, "critters", "images", "*", "*")))
        cls.labels = [os.path.basename(os.path.dirname(path)) for path in cls.paths]

    def path(self, name):
        return os.path.join(self.folder, name)

    def new_gallery(self, name, **settings):
        return diml.Gallery(self.path(name), self.model, preprocessing=SMALL, **settings)

    @staticmethod
    def run_program(*arguments):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout


needs_program = unittest.skipUnless(os.path.exists(PROGRAM), "the diml program is not built")
