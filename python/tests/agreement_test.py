"""The package and the program give the same bits on the same files."""

import json
import os
import subprocess
import tempfile
import unittest

import numpy as np

import diml
from diml import _inputs

PROGRAM = os.environ.get("DIML_PROGRAM", "")


@unittest.skipUnless(os.path.exists(PROGRAM), "the diml program is not built")
class Agreement(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        rng = np.random.default_rng(3)
        kinds = rng.normal(size=(6, 6, 16))
        self.labels = np.repeat(np.arange(6), 8)
        self.cells = (kinds[self.labels] + rng.normal(size=(48, 6, 16))).astype(np.float32)
        self.vectors = rng.normal(size=(48, 16)).astype(np.float32) + self.cells.mean(1)
        self.pairs = rng.integers(0, 48, size=(200, 2))
        for name in ("cells", "vectors", "labels", "pairs"):
            np.save(self.path(name + ".npy"), getattr(self, name))

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_program(self, *arguments):
        subprocess.run([PROGRAM, *arguments, "--cells", self.path("cells.npy"), "--globals", self.path("vectors.npy")],
                       check=True, stdout=subprocess.DEVNULL)

    def test_similarities_are_those_of_diml_match(self):
        self.run_program("match", "--pairs", self.path("pairs.npy"), "--out", self.path("S.npy"))
        found = diml.similarity(self.cells, self.cells, self.pairs, globals=(self.vectors, self.vectors))
        self.assertEqual(found.dtype, np.float32)
        self.assertTrue((found == np.load(self.path("S.npy"))).all())

    def test_grids_in_place_and_a_few_copied_ones_have_the_bits_of_files(self):
        self.cells /= np.linalg.norm(self.cells, axis=-1, keepdims=True)
        self.cells[5, 2] *= np.float32(1.5)
        np.save(self.path("cells.npy"), self.cells)
        self.run_program("match", "--pairs", self.path("pairs.npy"), "--out", self.path("S.npy"))
        self.assertEqual(_inputs.grids(self.cells).copied_cells, 1)
        found = diml.similarity(self.cells, self.cells, self.pairs, globals=(self.vectors, self.vectors))
        self.assertTrue((found == np.load(self.path("S.npy"))).all())

    def test_a_match_is_that_of_diml_explain(self):
        self.run_program("explain", "--pair", "2,17", "--json", self.path("why.json"))
        m = diml.match(self.cells[2], self.cells[17], globals=(self.vectors[2], self.vectors[17]))
        with open(self.path("why.json")) as file:
            why = json.load(file)
        with open(self.path("own.json"), "w") as file:
            file.write(m._figure("json"))
        with open(self.path("own.json")) as file:
            self.assertEqual(json.load(file), why)

    def test_evaluations_are_those_of_diml_evaluate(self):
        self.run_program("evaluate", "--labels", self.path("labels.npy"), "--rerank", "0,5,20", "--per-class", "--json",
                         self.path("E.json"))
        found = diml.evaluate(self.cells, self.vectors, self.labels, rerank=(0, 5, 20))
        with open(self.path("E.json")) as file:
            wanted = json.load(file)
        self.assertEqual((found.queries, found.left_out), (wanted["queries"], wanted["left_out"]))
        for row, result in enumerate(wanted["results"]):
            for name in ("rerank", "p_at_1", "r_precision", "map_at_r", "r_precision_paper", "map_at_r_paper"):
                self.assertEqual(found[name][row], result[name])
            for k, value in result["recall_at"].items():
                self.assertEqual(found["recall_at_" + k][row], value)
            for of_class in result["classes"]:
                own = found.per_class[result["rerank"]][int(of_class["label"])]
                self.assertEqual(own["map_at_r"], of_class["map_at_r"])

    def test_words_are_labels_too(self):
        words = np.array(["cat", "dog", "pug", "", "owl", "bee"])[self.labels]
        found = diml.evaluate(self.cells, self.vectors, words)
        self.assertEqual(found.unlabelled, 8)
        self.assertEqual(set(found.per_class[0]), {"cat", "dog", "pug", "owl", "bee"})


if __name__ == "__main__":
    unittest.main()
