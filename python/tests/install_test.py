"""`pip install .` into a virtual environment, with the extension of this build: the package is whole, and its examples run.

tools/python_install_test compiles it too, on bare systems, and installs the Debian package.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("DIML_SOURCE", "")
EXTENSION = os.environ.get("DIML_EXTENSION", "")
EXAMPLES = ("01_why_two_images_match", "02_evaluate_your_features", "03_rerank_faiss_hits", "04_a_gallery_over_http")
# A module that is None cannot be imported: the machine has PyTorch, a user's may not.
WITHOUT = """
import runpy, sys
for name in ("torch", "tqdm", "pandas", "sklearn", "ml_dtypes"):
    sys.modules[name] = None
"""


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.exists(EXTENSION):
            raise unittest.SkipTest("no extension is named: ctest does so")
        for name in ("pip", "setuptools", "wheel", "venv", "ensurepip"):
            if importlib.util.find_spec(name) is None:
                raise unittest.SkipTest(f"{name} is not there: install python3-pip python3-setuptools python3-wheel python3-venv")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        sources = os.path.join(cls.folder, "sources")  # pip writes beside what it builds
        os.makedirs(os.path.join(sources, "python"))
        for name in ("pyproject.toml", "setup.py", "CMakeLists.txt", "README.md", "LICENSE"):
            shutil.copy(os.path.join(SOURCE, name), sources)
        shutil.copytree(os.path.join(SOURCE, "python", "diml"), os.path.join(sources, "python", "diml"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        cls.environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        cls.python = os.path.join(cls.folder, "env", "bin", "python")
        cls.run_quietly([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip",
                         os.path.join(cls.folder, "env")])
        cls.run_quietly([sys.executable, "-m", "pip", "--python", cls.python, "install", sources, "--no-build-isolation",
                         "--no-deps", "--no-index", "--quiet"])

    @classmethod
    def run_quietly(cls, command):
        done = subprocess.run(command, cwd=cls.folder, env=cls.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}")
        return done.stdout

    def test_the_package_is_the_installed_one_and_whole(self):
        found = self.run_quietly([self.python, "-c", WITHOUT + """
import diml, os
from importlib.metadata import version
folder = os.path.dirname(diml.__file__)
assert version("diml") == diml.__version__, version("diml")
assert os.path.exists(os.path.join(folder, "py.typed")) and os.path.exists(os.path.join(folder, "_diml.pyi"))
try:
    diml.torch
except ImportError:
    print(folder)
"""])
        self.assertTrue(found.startswith(os.path.join(self.folder, "env")), found)

    def test_the_examples_run_without_pytorch(self):
        for example in EXAMPLES:
            with self.subTest(example):
                path = os.path.join(SOURCE, "python", "examples", example + ".py")
                self.run_quietly([self.python, "-c", WITHOUT + f"runpy.run_path({path!r}, run_name='__main__')"])


if __name__ == "__main__":
    unittest.main()
