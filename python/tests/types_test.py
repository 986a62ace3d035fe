"""Stubs, types and help: what an editor and a reader see."""

import doctest
import importlib
import os
import pkgutil
import pydoc
import shutil
import subprocess
import sys
import tempfile
import unittest

import diml

FOLDER = os.path.dirname(diml.__file__)
ALLOWED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stubtest.allow")
# Modules that need more than NumPy; they have tests of their own.
WITH_TORCH = {"torch", "pml", "_tensors", "_tensor_search", "_unrolled"}


def modules():
    return [name for _, name, _ in pkgutil.iter_modules([FOLDER]) if name not in WITH_TORCH]


class Types(unittest.TestCase):
    """Only the package's own files are read, which takes seconds; NumPy's stubs would take half a minute."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def tool(self, *arguments, path=""):
        return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False,
                              cwd=self.folder, env={**os.environ, "MYPYPATH": path})

    def mypy(self, *arguments):
        settings = os.path.join(self.folder, "mypy.ini")
        with open(settings, "w") as file:
            file.write("[mypy]\nignore_missing_imports = True\nfollow_imports = skip\ndisallow_untyped_defs = True\n")
            for name in sorted(WITH_TORCH):
                file.write(f"[mypy-diml.{name}]\ndisallow_untyped_defs = False\n")
        return self.tool("mypy", "--config-file", settings, "--cache-dir", self.folder, *arguments)

    def files(self):
        names = [*modules(), *WITH_TORCH, "__init__"]
        paths = [os.path.join(FOLDER, name + ending) for name in names for ending in (".py", ".pyi")]
        return [path for path in paths if os.path.exists(path)]

    def test_the_stub_of_the_extension_is_what_it_is(self):
        alone = os.path.join(self.folder, "alone")
        os.makedirs(os.path.join(alone, "diml"))
        open(os.path.join(alone, "diml", "__init__.pyi"), "w").close()
        shutil.copy(os.path.join(FOLDER, "_diml.pyi"), os.path.join(alone, "diml"))
        done = self.tool("mypy.stubtest", "--allowlist", ALLOWED, "--ignore-unused-allowlist", "diml._diml", path=alone)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mypy_is_clean(self):
        done = self.mypy(*self.files())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_program_with_wrong_types_is_refused(self):
        path = os.path.join(self.folder, "wrong.py")
        with open(path, "w") as file:
            file.write("import diml\ndiml.match(1, 2, lambda_='much')\ndiml.Gallery(3)\n")
        done = self.mypy(path, *self.files())
        self.assertEqual(done.stdout.count("[arg-type]"), 2, done.stdout)

    def test_the_examples_in_docstrings_run(self):
        tried = 0
        for name in modules():
            if name in ("_diml", "_typing"):
                continue
            result = doctest.testmod(importlib.import_module("diml." + name))
            self.assertEqual(result.failed, 0, name)
            tried += result.attempted
        self.assertGreater(tried, 30)

    def test_everything_public_has_a_docstring_with_an_example(self):
        finder = doctest.DocTestFinder()
        for name in diml.__all__:
            thing = getattr(diml, name)
            if not callable(thing) or name == "__version__":
                continue
            self.assertTrue((thing.__doc__ or "").strip(), name)
            is_error = isinstance(thing, type) and issubclass(thing, diml.Error)
            if is_error or name in ("backends", "features", "threads", "set_threads", "Embeddings", "Evaluation", "Match"):
                continue
            self.assertTrue(any(test.examples for test in finder.find(thing, name)), f"{name} has no example")

    def test_help_says_shapes_defaults_and_an_example(self):
        text = pydoc.render_doc(diml.match, renderer=pydoc.plaintext)
        for word in ("[R_s, D]", "lambda_: float = 0.05", ">>> m = diml.match(a, b)", ".explain", "cross_correlation",
                     "any scale"):
            self.assertIn(word, text)

    def test_the_package_says_that_it_is_typed(self):
        self.assertTrue(os.path.exists(os.path.join(FOLDER, "py.typed")))


if __name__ == "__main__":
    unittest.main()
