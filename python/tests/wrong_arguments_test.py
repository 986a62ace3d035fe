"""What a user gets wrong: every call says so in one line that names the argument, and none takes it for something else."""

import os
import tempfile
import unittest
import warnings

import numpy as np

import diml

RNG = np.random.default_rng(6)
a, b = RNG.normal(size=(16, 32)), RNG.normal(size=(9, 32))
A, B = RNG.normal(size=(5, 16, 32)), RNG.normal(size=(4, 16, 32))
LABELS = [0, 0, 1, 1, 1]


class Arguments(unittest.TestCase):
    def expect(self, kind, words, call):
        with self.subTest(words):
            with self.assertRaises(kind) as seen:
                call()
            line = str(seen.exception)
            self.assertIn(words, line)
            self.assertNotIn("\n", line)
            self.assertLess(len(line), 300)

    def test_of_one_pair(self):
        m = diml.match(a, b)
        for kind, words, call in (
                (TypeError, "an Embedder makes cells of photos", lambda: diml.match("a.jpg", "b.jpg")),
                (TypeError, "lambda_ is 'x': a number", lambda: diml.match(a, b, lambda_="x")),
                (TypeError, "max_iterations is 0.5: a whole number", lambda: diml.match(a, b, max_iterations=0.5)),
                (TypeError, "backend is None: a word", lambda: diml.match(a, b, backend=None)),
                (TypeError, "marginals is 3: a word", lambda: diml.match(a, b, marginals=3)),
                (diml.BadInput, "a pair is wanted, (of the first, of the second)", lambda: diml.match(a, b, globals=a[0])),
                (diml.BadInput, "a pair is wanted", lambda: diml.match(a, b, globals=(a[0],))),
                (diml.Unsupported, "backend='cpu'", lambda: diml.match(a, b, backend="cuda")),
                (diml.BadInput, "b: a grid holds NaN", lambda: diml.match(a, b * np.nan)),
                (diml.BadInput, "a: a grid has 2048 cells: 1 to 196 (14 x 14) are supported, pool it to fewer; if these are the "
                                "dimensions, swap the last two axes", lambda: diml.match(np.ones((2048, 49)), b)),
                (diml.BadInput, "b is [32]: [cells, dimensions]", lambda: diml.match(a, b[0])),
                (diml.BadInput, "globals is [9] where [32] is wanted, to go with b",
                 lambda: diml.match(a, b, globals=(None, b[:, 0]))),
                (diml.BadInput, "masked values", lambda: diml.match(np.ma.masked_greater(a, 1.0), b)),
                (diml.BadInput, "images is 'a.jpg': a pair", lambda: m.explain("why.html", images="a.jpg")),
                (diml.BadInput, "names is ('a',): a pair", lambda: m.explain("why.html", names=("a",))),
                (TypeError, "names[1] is 2: a word", lambda: m.explain("why.html", names=("a", 2))),
                (diml.BadInput, "why: explain writes .html", lambda: m.explain("why")),
                (TypeError, "uint8 [3, 8, 8]: uint8 [height, width, 3] is wanted; transpose it with .transpose(1, 2, 0)",
                 lambda: m.explain("why.html", images=(np.zeros((3, 8, 8), np.uint8), None))),
                (TypeError, "uint8 [8, 8, 4]: uint8", lambda: m.explain("why.html", images=(np.zeros((8, 8, 4), np.uint8), None))),
                (diml.BadInput, "max_iterations must be 1 to", lambda: diml.match(a, b, max_iterations=10**12)),
                (diml.BadInput, "max_iterations must be 1 to", lambda: diml.match(a, b, max_iterations=-10**12))):
            self.expect(kind, words, call)
        self.assertEqual(diml.match(a, b, globals=None).score, m.score)

    def test_of_many_pairs(self):
        knn = diml.StructuralKNeighbors(2).fit(A, LABELS)
        for kind, words, call in (
                (TypeError, "k is 'x': a whole number", lambda: diml.rerank(a, A, [0], k="x")),
                (TypeError, "k is True", lambda: diml.rerank(a, A, [0], k=True)),
                (diml.BadInput, "k is 10000000000000000000000: at most", lambda: diml.rerank(a, A, [0], k=10**22)),
                (diml.BadInput, "weights is 1: a pair", lambda: diml.rerank(a, A, [0], weights=1)),
                (TypeError, "weights[1] is 'much'", lambda: diml.Retriever(A, weights=(1, "much"))),
                (diml.BadInput, "rerank is -1: 0 or more", lambda: diml.Retriever(A).search(A, 2, rerank=-1)),
                (diml.BadInput, "rerank is -1: 0 or more", lambda: diml.evaluate(A, None, LABELS, rerank=(0, -1))),
                (TypeError, "rerank holds 'most'", lambda: diml.evaluate(A, None, LABELS, rerank=("most",))),
                (diml.BadInput, "weights is (1,)", lambda: diml.evaluate(A, None, LABELS, weights=(1,))),
                (TypeError, "tolerance is None: a number", lambda: diml.similarity(A, B, tolerance=None)),
                (TypeError, "n_neighbors is '3'", lambda: diml.StructuralKNeighbors("3").fit(A, LABELS).predict(A)),
                (diml.BadInput, "y is [2]: one label for each of 5", lambda: knn.score(A, LABELS[:2])),
                (TypeError, "count is 'x'", lambda: diml.set_threads("x"))):
            self.expect(kind, words, call)
        self.assertEqual(diml.evaluate(A, None, LABELS, rerank=3)["rerank"], [3])

    def test_the_broken_grid_is_named(self):
        broken = A.copy()
        broken[3, 2, 5] = np.inf
        wanted = "cells[3]: a grid holds NaN or infinity"
        for given in (broken, list(broken), broken / np.linalg.norm(A, axis=-1, keepdims=True)):
            self.expect(diml.BadInput, wanted, lambda given=given: diml.similarity(given, B))
            self.expect(diml.BadInput, wanted, lambda given=given: diml.evaluate(given, None, LABELS))
        vectors = A.mean(1)
        vectors[1, 0] = np.nan
        self.expect(diml.BadInput, "cells[1]: a grid holds NaN", lambda: diml.Retriever(A, vectors))

    def test_forgotten_axes_and_names_are_told(self):
        for kind, words, call in (
                (diml.BadInput, "one image is x[None]", lambda: diml.Retriever(A).search(a)),
                (diml.BadInput, "swap the last two axes", lambda: diml.similarity(np.ones((2, 512, 49)), np.ones((2, 512, 49)),
                                                                               layout="nrd")),
                (TypeError, "evaluate(cells, labels=labels)", lambda: diml.evaluate(A, LABELS)),
                (diml.BadInput, "masked values", lambda: diml.evaluate(A, None, np.ma.masked_equal(LABELS, 0)))):
            self.expect(kind, words, call)

    def test_what_may_be_turned_is_said(self):
        for words, call in ((r"32 cells of 16 dimensions; if it is \[dimensions, cells\]", lambda: diml.match(a.T, a.T)),
                            (r"if it is \[dimensions, rows, columns\]", lambda: diml.match(np.ones((9, 4, 4)), a[:, :4])),
                            (r"transpose\(0, 2, 1\)", lambda: diml.StructuralKNeighbors(1).fit(A.transpose(0, 2, 1), LABELS))):
            with self.assertWarnsRegex(UserWarning, words):
                call()
        with self.assertWarns(UserWarning) as seen:
            diml.match(a.T, a.T)
        self.assertEqual(seen.filename, __file__)  # the caller's line
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            diml.match(a, a)
            diml.match(a.T, a.T, globals=(a.mean(0)[:16], a.mean(0)[:16]))
            diml.match(a.T.reshape(8, 4, 16), a.reshape(4, 4, 32)[..., :16])
            diml.StructuralKNeighbors(1, layout="nrd").fit(A.transpose(0, 2, 1), LABELS)

    def test_lists_hold_one_grid_each(self):
        # Of [5, 16, 32] in a list the first grid alone would be matched, and of a map [4, 4, 32] the first row.
        for kind, words, call in (
                (diml.BadInput, "cells[0] is [5, 16, 32]: [cells, dimensions]", lambda: diml.rerank(A, B, [0, 1, 2], k=1)),
                (diml.BadInput, "cells[1] is [4, 4, 32]", lambda: diml.similarity([a, a.reshape(4, 4, 32)], B)),
                (diml.BadInput, "cells[0] is [32]", lambda: diml.similarity([a[0]], B))):
            self.expect(kind, words, call)

    @unittest.skipUnless(diml.features()["gallery"], "this build has no galleries")
    def test_of_photos_and_galleries(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        model, at = os.path.join(folder.name, "m.safetensors"), os.path.join(folder.name, "g")
        diml.write_model(model, dim=8)
        e = diml.Embedder(model)
        g = diml.Gallery(at, shape=(16, 32))
        self.addCleanup(g.close)
        g.add(list("abcde"), cells=A)
        for kind, words, call in (
                (TypeError, "grid: a whole number", lambda: diml.Embedder(model, grid=(4, 4))),
                (TypeError, "device: a word", lambda: diml.Embedder(model, device=0)),
                (diml.BadInput, "batch is 1 or more", lambda: diml.Embedder(model, batch=-1)),
                (TypeError, "preprocessing is 3: a dictionary", lambda: diml.Embedder(model, preprocessing=3)),
                (TypeError, "a picture is uint8 [4, 4]", lambda: e(np.zeros((4, 4), np.uint8))),
                (TypeError, "model is None: a file is wanted", lambda: diml.Embedder(None)),
                (diml.BadInput, "have the shape (16, 32), not (4, 4)", lambda: diml.Gallery(at, shape=(4, 4))),
                (diml.BadInput, "shape is (16,): a pair", lambda: diml.Gallery(at + "2", shape=(16,))),
                (TypeError, "shape[0] is '16'", lambda: diml.Gallery(at + "2", shape=("16", 32))),
                (diml.NotFound, "there is no gallery", lambda: diml.Gallery(at + "2")),
                (diml.NotFound, "no image none", lambda: g["none"]),
                (TypeError, "3 is no path", lambda: g.add([3])),
                (TypeError, "None is no path", lambda: g.add(None)),
                (diml.BadInput, "JSON has no NaN", lambda: g.update(0, metadata={"price": float("nan")})),
                (TypeError, "where is 3: a word", lambda: g.search(0, where=3)),
                (TypeError, "the query is None", lambda: g.search(None)),
                (TypeError, "the query is 1.5", lambda: g.search(1.5)),
                (diml.BadInput, "the list of queries is empty", lambda: g.search([])),
                (TypeError, "queries are all paths", lambda: g.search([0, "a"])),
                (TypeError, "None is no image", lambda: g.explain(0, None))):
            self.expect(kind, words, call)
        self.assertEqual(len(os.listdir(folder.name)), 2)  # no gallery was made


if __name__ == "__main__":
    unittest.main()
