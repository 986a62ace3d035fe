"""StructuralKNeighbors against evaluate(), and scikit-learn's protocol."""

import copy
import inspect
import unittest

import numpy as np

import diml

RNG = np.random.default_rng(11)
KINDS = RNG.normal(size=(6, 6, 16))
LABELS = np.repeat(np.arange(6), 9)
CELLS = (KINDS[LABELS] + 1.6 * RNG.normal(size=(54, 6, 16))).astype(np.float32)


class Neighbours(unittest.TestCase):
    def test_leave_one_out_accuracy_is_the_p_at_1_of_evaluate(self):
        depths = (0, 1, 3, 20, 100)
        wanted = diml.evaluate(CELLS, None, LABELS, rerank=depths)["p_at_1"]
        self.assertGreater(len(set(wanted)), 1)  # or the test could not fail
        for depth, percent in zip(depths, wanted):
            knn = diml.StructuralKNeighbors(1, rerank=depth).fit(CELLS, LABELS)
            self.assertAlmostEqual(100 * knn.score(None, LABELS), percent, places=9)

    def test_precision_at_r_is_that_of_evaluate(self):
        wanted = diml.evaluate(CELLS, None, LABELS, rerank=(20,))["r_precision"][0]
        knn = diml.StructuralKNeighbors(rerank=20).fit(CELLS, LABELS)
        ids = knn.kneighbors(n_neighbors=8, return_distance=False)
        self.assertAlmostEqual(100 * (LABELS[ids] == LABELS[:, None]).mean(), wanted, places=9)

    def test_neighbours_are_those_of_the_retriever_and_distances_ascend(self):
        queries = KINDS + 0.5 * RNG.normal(size=KINDS.shape)
        knn = diml.StructuralKNeighbors(7, rerank=20, weights=(1.0, 2.0)).fit(list(CELLS), LABELS)
        distances, ids = knn.kneighbors(queries)
        scores, wanted = diml.Retriever(CELLS, weights=(1.0, 2.0)).search(queries, 7, rerank=20)
        self.assertEqual(ids.tolist(), wanted.tolist())
        self.assertTrue(np.allclose(distances, 3 - scores, atol=1e-6))
        self.assertTrue((np.diff(distances, axis=1) >= 0).all() and (distances >= 0).all())

    def test_votes_decide_and_ties_go_to_the_first_class(self):
        X = np.eye(4)[:, None, :] + 0.1
        knn = diml.StructuralKNeighbors(2).fit(X[[0, 0, 1, 1]], ["b", "a", "c", "c"])
        self.assertEqual(knn.predict_proba(X[:2]).tolist(), [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
        self.assertEqual(knn.predict(X[:2]).tolist(), ["a", "c"])
        self.assertEqual(knn.score(X[:2], ["a", "b"], sample_weight=[3, 1]), 0.75)

    def test_wrong_calls_say_what_is_wanted(self):
        with self.assertRaisesRegex(ValueError, "call fit"):
            diml.StructuralKNeighbors().predict(CELLS)
        with self.assertRaisesRegex(ValueError, "one label for each"):
            diml.StructuralKNeighbors().fit(CELLS, LABELS[:5])
        with self.assertRaisesRegex(ValueError, "n_neighbors is 54"):
            diml.StructuralKNeighbors(54).fit(CELLS, LABELS).kneighbors()
        with self.assertRaisesRegex(ValueError, "no parameter depth"):
            diml.StructuralKNeighbors().set_params(depth=3)

    def test_the_protocol_of_estimators(self):
        knn = diml.StructuralKNeighbors(3, rerank=10)
        names = [name for name in inspect.signature(diml.StructuralKNeighbors.__init__).parameters if name != "self"]
        self.assertEqual(list(knn.get_params()), names)
        # What sklearn.base.clone does: a new object of copied settings, each kept as it is.
        copied = {name: copy.deepcopy(value) for name, value in knn.get_params(deep=False).items()}
        again = type(knn)(**copied)
        for name, value in copied.items():
            self.assertIs(again.get_params(deep=False)[name], value)
        self.assertIs(again.set_params(n_neighbors=1), again)
        self.assertEqual(repr(again), "StructuralKNeighbors(n_neighbors=1, rerank=10)")
        self.assertIs(again.fit(CELLS, LABELS), again)
        self.assertFalse(hasattr(knn, "classes_"))

    def test_scikit_learn_takes_it_where_it_is_there(self):
        try:
            from sklearn.base import clone
            from sklearn.model_selection import GridSearchCV, cross_val_score
        except ImportError:
            self.skipTest("scikit-learn is not there: install python3-sklearn")
        knn = clone(diml.StructuralKNeighbors(3))
        scores = cross_val_score(knn, CELLS, LABELS, cv=3)
        self.assertEqual(len(scores), 3)
        best = GridSearchCV(knn, {"n_neighbors": [1, 5]}, cv=3).fit(CELLS, LABELS)
        self.assertIn(best.best_params_["n_neighbors"], (1, 5))


if __name__ == "__main__":
    unittest.main()
