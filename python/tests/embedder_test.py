"""Embedder: the bits of `diml embed`, from files and from arrays."""

import os
import unittest

import numpy as np

import diml
from photos import SMALL, Photos, needs_program


class Embedding(Photos):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.embedder = diml.Embedder(cls.model, preprocessing=SMALL)

    @needs_program
    def test_grids_are_those_of_diml_embed(self):
        with open(self.path("list.txt"), "w") as file:
            file.write("\n".join(self.paths) + "\n")
        self.run_program("embed", "--model", self.model, "--images", self.path("list.txt"), "--resize", 72, "--crop", 64,
                         "--out", self.path("own"))
        cells, vectors = self.embedder(self.paths)
        self.assertEqual(cells.tobytes(), np.load(self.path("own.cells.npy")).tobytes())
        self.assertEqual(vectors.tobytes(), np.load(self.path("own.globals.npy")).tobytes())
        self.assertEqual((cells.dtype, cells.shape, vectors.shape), (np.float32, (15, 16, 32), (15, 32)))

    def test_arrays_and_files_give_the_same_bits(self):
        wanted = self.embedder(self.paths[:3])
        pixels = [diml._diml.read_pixels(path) for path in self.paths[:3]]
        for same in (pixels, np.stack(pixels), [p.copy(order="F") for p in pixels]):
            found = self.embedder(same)
            self.assertEqual(found.cells.tobytes(), wanted.cells.tobytes())
            self.assertEqual(found.globals.tobytes(), wanted.globals.tobytes())
        self.assertEqual(self.embedder(pixels[1]).cells.tobytes(), wanted.cells[1:2].tobytes())
        self.assertEqual(self.embedder(self.paths[1]).cells.tobytes(), wanted.cells[1:2].tobytes())

    def test_pictures_of_pillow_give_the_bits_of_files(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("Pillow is not there: install python3-pil")
        wanted = self.embedder(self.paths[:2]).cells.tobytes()
        opened = [Image.open(path) for path in self.paths[:2]]
        self.assertEqual(self.embedder(opened).cells.tobytes(), wanted)
        self.assertEqual(self.embedder([picture.convert("RGBA") for picture in opened]).cells.tobytes(), wanted)
        self.assertEqual(self.embedder(opened[0].convert("L")).cells.shape, (1, 16, 32))

    def test_settings_change_the_grid(self):
        seven = diml.Embedder(self.model, grid=2, projection=False, pooling="roi_align",
                              preprocessing={**SMALL, "mean": [120, 120, 120]})
        cells, vectors = seven(self.paths[:1])
        self.assertEqual(cells.shape, (1, 4, 128))
        self.assertEqual((seven.cells, seven.dim, seven.info["embedding"]["mean"]), (4, 128, "120 120 120"))
        for wrong in (dict(grid=15), dict(pooling="max"), dict(network="tensorflow"), dict(preprocessing={"size": 3})):
            with self.assertRaises(ValueError):
                diml.Embedder(self.model, **wrong)
        with self.assertRaises((diml.Error, KeyError)):
            diml.Embedder(os.path.join(self.folder, "none.safetensors"))

    def test_bad_files_stop_or_are_skipped(self):
        bad = self.path("bad.png")
        with open(bad, "w") as file:
            file.write("no photo")
        with self.assertRaisesRegex(diml.Error, "bad.png"):
            self.embedder([self.paths[0], bad])
        found = self.embedder([self.paths[0], bad, self.paths[1]], bad="skip")
        self.assertEqual((found.rows.tolist(), len(found.bad), len(found.cells)), ([0, 2], 1, 2))
        self.assertEqual(found.cells.tobytes(), self.embedder(self.paths[:2]).cells.tobytes())
        with self.assertRaises(TypeError):
            self.embedder([np.zeros((4, 4))])
        with self.assertRaises(TypeError):
            self.embedder([self.paths[0], np.zeros((4, 4, 3), np.uint8)])

    def test_progress_is_told_and_may_end_the_call(self):
        seen = []
        self.embedder(self.paths, progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[-1], (15, 15))
        with self.assertRaises(ZeroDivisionError):
            self.embedder(self.paths, progress=lambda done, total: 1 / 0)
        with self.assertRaisesRegex(diml.Conflict, "at work"):
            self.embedder(self.paths, progress=lambda done, total: self.embedder(self.paths[:1]))
        self.assertEqual(len(self.embedder(self.paths[:1]).cells), 1)  # and is as before


if __name__ == "__main__":
    unittest.main()
