"""Kinds of input: arrays of other libraries (DLPack), maps of features, labels of pandas, lists of unequal length."""

import unittest
import warnings
from unittest import mock

import numpy as np

import diml
from diml import _diml, _inputs

RNG = np.random.default_rng(3)
KINDS = RNG.normal(size=(6, 6, 16))
LABELS = np.repeat(np.arange(6), 5)
CELLS = (KINDS[LABELS] + RNG.normal(size=(30, 6, 16))).astype(np.float32)
VECTORS = (CELLS.mean(1) + 0.2 * RNG.normal(size=(30, 16))).astype(np.float32)


class Namespace:
    """What the array API asks of a library: from_dlpack()."""

    @staticmethod
    def from_dlpack(x):
        return Lent(np.from_dlpack(x))


class Lent:
    """An array of a library that is neither NumPy nor torch: it lends its memory by DLPack, and is asked for nothing else."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __array_namespace__(self):
        return Namespace

    @property
    def shape(self):
        return self.array.shape

    @property
    def ndim(self):
        return self.array.ndim

    def __len__(self):
        return len(self.array)


class OfOtherLibraries(unittest.TestCase):
    def expect_same(self, found, wanted):
        self.assertIsInstance(found, Lent)
        self.assertEqual(found.array.tobytes(), np.ascontiguousarray(wanted).tobytes())

    def test_lent_arrays_go_in_and_come_out(self):
        cells, vectors = Lent(CELLS), Lent(VECTORS)
        both = (VECTORS, VECTORS)
        self.expect_same(diml.similarity(cells, cells, globals=(vectors, vectors)), diml.similarity(CELLS, CELLS, globals=both))
        pairs = RNG.integers(0, 30, size=(20, 2))
        self.expect_same(diml.similarity(cells, CELLS, Lent(pairs)), diml.similarity(CELLS, CELLS, pairs))
        listed = [Lent(c) for c in CELLS]
        self.expect_same(diml.similarity(listed, listed), diml.similarity(CELLS, CELLS))
        for found, wanted in zip(diml.Retriever(cells, vectors).search(cells, 4, globals=vectors),
                                 diml.Retriever(CELLS, VECTORS).search(CELLS, 4, globals=VECTORS)):
            self.expect_same(found, wanted)
        candidates = RNG.integers(-1, 30, size=(30, 8))
        for found, wanted in zip(diml.rerank(cells, cells, Lent(candidates), 3), diml.rerank(CELLS, CELLS, candidates, 3)):
            self.expect_same(found, wanted)
        self.assertEqual(diml.evaluate(cells, vectors, Lent(LABELS)), diml.evaluate(CELLS, VECTORS, LABELS))
        own, other = diml.match(Lent(CELLS[0]), Lent(CELLS[1])), diml.match(CELLS[0], CELLS[1])
        self.assertEqual(own.score, other.score)
        self.expect_same(own.plan, other.plan)
        self.expect_same(own.marginals[1], other.marginals[1])
        knn = diml.StructuralKNeighbors(3).fit(cells, LABELS)
        self.expect_same(knn.kneighbors(cells)[1], diml.StructuralKNeighbors(3).fit(CELLS, LABELS).kneighbors(CELLS)[1])

    def test_a_lent_array_is_used_where_it_lies(self):
        unit = CELLS / np.linalg.norm(CELLS, axis=-1, keepdims=True)
        lent = Lent(unit)
        grids = _inputs.grids(lent)
        self.assertEqual((grids.copied_cells, grids.cells_address(2)), (0, lent.array[2].ctypes.data))

    def test_one_on_a_gpu_names_what_takes_it(self):
        class OnAGpu(Lent):
            def __dlpack_device__(self):
                return 2, 0

        with mock.patch.dict("sys.modules", {"torch": None}):
            with self.assertRaisesRegex(diml.Unsupported, "python3-torch"):
                diml.similarity(OnAGpu(CELLS), CELLS)


class Maps(unittest.TestCase):
    """[N, D, rows, columns] and [N, rows, columns, D], as the program reads them from files."""

    def setUp(self):
        self.nhwc = RNG.normal(size=(12, 3, 3, 16)).astype(np.float32)
        self.nchw = np.ascontiguousarray(self.nhwc.transpose(0, 3, 1, 2))
        self.cells = self.nhwc.reshape(12, 9, 16)
        self.labels = np.repeat(np.arange(4), 3)

    def test_both_layouts_are_taken_everywhere(self):
        wanted = diml.similarity(self.cells, self.cells)
        searched = diml.Retriever(self.cells).search(self.cells, 3)
        candidates = np.tile(np.arange(12), (12, 1))
        for layout, maps in (("nchw", self.nchw), ("nhwc", self.nhwc)):
            self.assertTrue((diml.similarity(maps, maps, layout=layout) == wanted).all())
            self.assertEqual(diml.evaluate(maps, None, self.labels, layout=layout),
                             diml.evaluate(self.cells, None, self.labels))
            for found in (diml.Retriever(maps, layout=layout).search(maps, 3), diml.rerank(maps, maps, candidates, 3,
                                                                                          layout=layout)):
                self.assertTrue((found[1] == searched[1]).all() and (found[0] == searched[0]).all())

    def test_a_guess_is_said(self):
        for maps, axes in ((self.nchw, "dimensions, rows, columns"), (self.nhwc, "rows, columns, dimensions")):
            with self.assertWarnsRegex(UserWarning, axes) as seen:
                diml.similarity(maps, maps)
            self.assertEqual(seen.filename, __file__)  # the caller's line
        with self.assertWarnsRegex(UserWarning, r"\.transpose\(0, 2, 1\)"):
            diml.similarity(self.cells.transpose(0, 2, 1), self.cells.transpose(0, 2, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            diml.similarity(self.cells, self.cells)
            diml.similarity(self.nchw, self.nchw, layout="nchw")
            diml.similarity(self.cells.transpose(0, 2, 1), self.cells.transpose(0, 2, 1), layout="nrd")

    def test_globals_tell_where_the_dimensions_are(self):
        oblong = RNG.normal(size=(5, 2, 6, 4)).astype(np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for dim, cells in ((2, oblong.transpose(0, 2, 3, 1).reshape(5, 24, 2)), (4, oblong.reshape(5, 12, 4))):
                vectors = RNG.normal(size=(5, dim))
                self.assertEqual(diml.evaluate(oblong, vectors, [0, 0, 1, 1, 1]),
                                 diml.evaluate(cells, vectors, [0, 0, 1, 1, 1]))

    def test_what_cannot_be_told_is_refused(self):
        with self.assertRaisesRegex(ValueError, "name the layout") as seen:
            diml.similarity(np.ones((2, 4, 4, 4)), np.ones((2, 4, 4, 4)))
        self.assertEqual(seen.exception.parameter, "layout")
        with self.assertRaisesRegex(ValueError, "nchw has four axes"):
            diml.similarity(self.cells, self.cells, layout="nchw")
        with self.assertRaisesRegex(ValueError, "nrd has three axes"):
            diml.similarity(self.nchw, self.nchw, layout="nrd")
        with self.assertRaisesRegex(ValueError, "unknown layout"):
            diml.similarity(self.cells, self.cells, layout="chw")
        with self.assertRaisesRegex(ValueError, "looks like"):
            diml.similarity(self.cells.transpose(0, 2, 1), self.cells, globals=(self.cells.mean(1), None))


class Labels(unittest.TestCase):
    def test_words_as_objects_are_words(self):
        words = np.array(["cat", "dog", "pug", "owl", "bee", "ant"])[LABELS]
        wanted = diml.evaluate(CELLS, VECTORS, words)
        self.assertEqual(diml.evaluate(CELLS, VECTORS, words.astype(object)), wanted)
        found = diml.evaluate(CELLS, VECTORS, list(words.astype(object)))
        self.assertEqual(found.per_class, wanted.per_class)

    def test_missing_ones_have_no_label(self):
        words = np.array(["cat", "dog", "pug", "owl", "bee", "ant"])[LABELS].astype(object)
        words[:5] = [None, float("nan"), "", np.nan, None]
        found = diml.evaluate(CELLS, VECTORS, words)
        self.assertEqual((found.unlabelled, set(found.per_class[0])), (5, {"dog", "pug", "owl", "bee", "ant"}))
        numbers = LABELS.astype(object)
        numbers[3] = None
        self.assertEqual(diml.evaluate(CELLS, VECTORS, numbers).unlabelled, 1)
        listed = list(words)  # of which NumPy alone makes the words "None" and "nan"
        found = diml.evaluate(CELLS, VECTORS, listed)
        self.assertEqual((found.unlabelled, set(found.per_class[0])), (5, {"dog", "pug", "owl", "bee", "ant"}))
        with self.assertRaisesRegex(TypeError, "of one kind"):
            diml.evaluate(CELLS, VECTORS, ["cat", 1] * 15)
        with self.assertRaisesRegex(TypeError, "of one kind"):
            numbers[4] = "cat"
            diml.evaluate(CELLS, VECTORS, numbers)
        with self.assertRaisesRegex(TypeError, "float"):
            diml.evaluate(CELLS, VECTORS, LABELS / 2)

    def test_series_of_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not there: install python3-pandas")
        words = np.array(["cat", "dog", "pug", "owl", "bee", "ant"])[LABELS]
        table = pandas.DataFrame({"label": words, "number": LABELS})
        wanted = diml.evaluate(CELLS, VECTORS, words)
        for series in (table["label"], table["label"].astype("string"), table["label"].astype("category")):
            self.assertEqual(diml.evaluate(CELLS, VECTORS, series), wanted)
        gaps = table["label"].astype("string").copy()
        gaps[0] = pandas.NA
        self.assertEqual(diml.evaluate(CELLS, VECTORS, gaps).unlabelled, 1)
        gaps = table["number"].astype("Int64")
        gaps[0] = pandas.NA
        self.assertEqual(diml.evaluate(CELLS, VECTORS, gaps).unlabelled, 1)
        result = pandas.DataFrame(wanted)
        self.assertEqual(result["rerank"].tolist(), [0, 100])
        knn = diml.StructuralKNeighbors(3).fit(CELLS, table["label"])
        self.assertEqual(knn.predict(CELLS[:2]).tolist(), ["cat", "cat"])


class LateInteraction(unittest.TestCase):
    """Lists of (tokens, dim), of any number of tokens."""

    def setUp(self):
        self.queries = [RNG.normal(size=(r, 8)).astype(np.float32) for r in (3, 7, 4)]
        self.documents = [RNG.normal(size=(r, 8)).astype(np.float32) for r in (5, 300, 2, 197, 40, 300)]

    def wanted(self):
        unit = [[x / np.linalg.norm(x, axis=1, keepdims=True) for x in side] for side in (self.queries, self.documents)]
        return np.array([[(q @ d.T).max(1).mean() for d in unit[1]] for q in unit[0]])

    def test_similarities_of_long_lists(self):
        found = diml.similarity(self.queries, self.documents, score="maxsim")
        np.testing.assert_allclose(found, self.wanted(), atol=1e-6)
        long = np.stack([self.documents[1], self.documents[5]])
        found = diml.similarity(self.queries, long, score="maxsim", layout="nrd")
        np.testing.assert_allclose(found, self.wanted()[:, [1, 5]], atol=1e-6)
        with self.assertRaisesRegex(ValueError, "300 cells"):
            diml.similarity(self.queries, self.documents)

    def test_long_grids_are_used_where_they_lie(self):
        long = np.stack([self.documents[1], self.documents[5]])
        long /= np.linalg.norm(long, axis=-1, keepdims=True)
        held = _inputs.grids(long, None, True)
        self.assertEqual((held.copied_cells, held.cells_address(1)), (0, long[1].ctypes.data))
        vectors = long.mean(1).astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        found = diml.Retriever(long, score="maxsim", layout="nrd").search(long, 2, rerank=0)[0]
        np.testing.assert_allclose(found, np.sort(vectors @ vectors.T)[:, ::-1], atol=1e-5)

    def test_rerank_and_retriever_order_unequal_lists(self):
        candidates = np.tile([4, 1, -1, 0, 3], (3, 1))
        for score, where in (("maxsim", slice(None)), ("structural", slice(0, 1))):
            documents = self.documents if score == "maxsim" else [d[:100] for d in self.documents]
            totals = diml.similarity(self.queries, documents, score=score)
            scores, ids = diml.rerank(self.queries, documents, candidates, k=3, weights=(0.0, 1.0), score=score)
            for q in range(3):
                best = sorted([4, 1, 0, 3], key=lambda d: -totals[q, d])[:3]
                self.assertEqual(ids[q].tolist(), best)
                np.testing.assert_allclose(scores[q], totals[q, best], atol=1e-6)
            scores, ids = diml.Retriever(documents, weights=(0.0, 1.0), score=score).search(self.queries, 6, rerank=6)
            for q in range(3):
                self.assertEqual(ids[q].tolist(), sorted(range(6), key=lambda d: -totals[q, d]))
            one = diml.rerank(self.queries[1], documents, [0, 1, 3], k=3, weights=(0.0, 1.0), score=score)
            self.assertEqual(one[1].tolist(), sorted([0, 1, 3], key=lambda d: -totals[1, d]))


class Once(unittest.TestCase):
    def test_a_side_that_is_the_other_is_taken_once(self):
        taken = []

        def counted(*arguments, made=_diml.grids_of_array):
            taken.append(arguments)
            return made(*arguments)

        with mock.patch.object(_diml, "grids_of_array", counted):
            same = diml.similarity(CELLS, CELLS, globals=(VECTORS, VECTORS))
            self.assertEqual(len(taken), 1)
            other = diml.similarity(CELLS, CELLS.copy(), globals=(VECTORS, VECTORS.copy()))
            self.assertEqual(len(taken), 3)
            diml.rerank(CELLS, CELLS, np.zeros((30, 2), int), 1)
            self.assertEqual(len(taken), 4)
            diml.similarity(CELLS, CELLS, globals=(VECTORS, None))  # not one and the same
            self.assertEqual(len(taken), 6)
        self.assertTrue((same == other).all())

    def test_no_pairs_are_no_scores(self):
        for nothing in ([], np.zeros((0, 2), int), ()):
            found = diml.similarity(CELLS, CELLS, nothing)
            self.assertEqual((found.shape, found.dtype), ((0,), np.float32))

    def test_globals_without_axes_are_refused(self):
        for globals in (np.float32(1.0), np.array(1.0)):
            with self.assertRaisesRegex(ValueError, "globals is"):
                diml.similarity(np.ones((1, 1, 1)), np.ones((1, 1, 1)), globals=(globals, None))

    def test_no_places_say_what_is_wanted(self):
        for k in (0, -1):
            with self.assertRaisesRegex(ValueError, "1 or more"):
                diml.rerank(CELLS[:2], CELLS, [[0, 1], [2, 3]], k=k)
        with self.assertRaisesRegex(ValueError, "numbers of images are smaller"):
            diml.rerank(CELLS[:1], CELLS, np.array([[2**63]], np.uint64), k=1)


if __name__ == "__main__":
    unittest.main()
