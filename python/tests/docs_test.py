"""The Python of docs/python.md and of the README, run as it stands there, block after block, on photos and arrays made here."""

import contextlib
import glob
import io
import os
import re
import shutil
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest("PyTorch is not there: install python3-torch") from error

import diml
import pml_protocol

SOURCE = os.environ.get("DIML_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PHOTOS, KINDS = 20, 5
RNG = np.random.default_rng(4)


def blocks(page):
    with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(), re.DOTALL | re.MULTILINE)


def grids(count):
    return RNG.normal(size=(KINDS, 16, 32))[np.arange(count) % KINDS] + RNG.normal(size=(count, 16, 32))


@unittest.skipUnless(diml.features()["gallery"] and diml.features()["drawing"], "this build has no galleries or no pictures")
class Pages(unittest.TestCase):
    """What a block begins with is what its comments say; what it makes is looked at afterwards."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        kept = mock.patch.dict(os.environ, {"DIML_CACHE": os.path.join(folder.name, "cache")})
        kept.start()
        self.addCleanup(kept.stop)

    def photos(self):
        """photos/00.png to 19.png, three photos beside them, and weights that are there as if fetched."""
        diml.write_critters("critters", KINDS, PHOTOS // KINDS, size=64)
        os.makedirs("photos")
        for i, path in enumerate(sorted(glob.glob("critters/images/*/*"))):
            shutil.copy(path, f"photos/{i:02d}.png")
        for i, name in enumerate("abc"):
            shutil.copy(f"photos/{i:02d}.png", f"{name}.jpg")
        os.makedirs("cache")
        diml.write_model("cache/resnet50.safetensors", "resnet18", dim=16)

    def run_block(self, code, **names):
        names["diml"] = diml  # the page imports it once
        exec(compile(code, "the page", "exec"), names)
        return names

    def test_blocks_of_the_page_are_these(self):
        self.assertEqual([len(blocks("docs/python.md")), len(blocks("README.md"))], [3, 1])

    def test_matching_and_evaluation(self):
        self.photos()
        cells, queries = grids(60), grids(7)
        A, B = grids(4), grids(3)
        tokens = [RNG.normal(size=(r, 32)) for r in (3, 7, 4)]
        y = np.arange(60) % KINDS
        made = self.run_block(
            blocks("docs/python.md")[0], a=cells[0], b=cells[1].reshape(4, 4, 32), A=A, B=B, pairs=[(0, 1), (3, 2)],
            tokens_a=tokens, tokens_b=tokens[:2], cells=cells, globals=cells.mean(1), labels=y, queries=queries,
            gallery=cells, candidates=np.tile(np.arange(30), (7, 1)), grids=cells, y=y)
        with open("why.html", encoding="utf-8") as page:
            self.assertIn("data:image/", page.read())
        self.assertEqual((made["S"].shape, made["s"].tolist()), ((4, 3), [made["S"][0, 1], made["S"][3, 2]]))
        self.assertEqual(made["t"].shape, (3, 2))
        self.assertEqual((made["r"]["rerank"], made["r"].queries), ([0, 100], 60))
        self.assertEqual((made["scores"].shape, made["ids"].shape), ((7, 10), (7, 10)))
        wanted = diml.evaluate(cells, cells.mean(1), y, rerank=(100,))["p_at_1"][0]
        self.assertGreater(wanted, 50)
        self.assertEqual(made["knn"].score(cells, y), (made["knn"].predict(cells) == y).mean())

    def test_photos_and_galleries(self):
        self.photos()
        with contextlib.redirect_stdout(io.StringIO()):
            made = self.run_block(blocks("docs/python.md")[1], paths=["a.jpg", "b.jpg"], labels=["pug", "cat"])
        self.assertEqual((made["cells"].shape, made["globals"].shape), ((2, 16, 16), (2, 16)))
        g = made["g"]
        self.assertEqual([g[id]["label"] for id in (17, g.find("b.jpg"))], ["pug", "cat"])
        self.assertFalse(3 in g or "a.jpg" in g)
        self.assertEqual(g["photos/03.png"]["id"], 22)  # sync has brought back what was removed
        self.assertTrue(os.path.getsize("why.html") > 1000)

    def test_pytorch(self):
        a, b = (torch.from_numpy(grids(6)).float() for _ in range(2))
        real = types.ModuleType("pytorch_metric_learning")
        real.losses = pml_protocol
        beside = {} if "pytorch_metric_learning" in sys.modules else {
            "pytorch_metric_learning": real, "pytorch_metric_learning.losses": pml_protocol}
        with mock.patch.dict(sys.modules, beside):
            made = self.run_block(blocks("docs/python.md")[2], a=a, b=b, a_globals=a.mean(1), b_globals=b.mean(1), cells=a,
                                  globals=a.mean(1))
        self.assertEqual([tuple(made[name].shape) for name in ("s", "S", "T", "embeddings")],
                         [(6,), (6, 6), (6, 16, 16), (6, 17 * 32)])
        torch.testing.assert_close(made["S"].diag(), made["s"])
        self.assertTrue(bool(torch.isfinite(made["loss"](made["embeddings"], torch.arange(6) % 3))))
        self.assertEqual(made["knn"](made["embeddings"], 1, made["embeddings"])[1][:, 0].tolist(), list(range(6)))

    def test_readme(self):
        self.photos()
        cells = grids(40)
        code, = blocks("README.md")
        made = self.run_block(code, a=cells[0], b=cells[1], cells=cells, globals=cells.mean(1), labels=np.arange(40) % KINDS)
        self.assertEqual((made["r"]["rerank"], len(made["g"])), ([0, 100], PHOTOS))


if __name__ == "__main__":
    unittest.main()
