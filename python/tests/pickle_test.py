"""What users keep in files and send to other processes: matches, retrievers and fitted neighbours, with the same bits."""

import copy
import multiprocessing
import os
import pickle
import tempfile
import unittest

import numpy as np

import diml
from diml import _diml, _inputs

RNG = np.random.default_rng(8)
CELLS = RNG.normal(size=(40, 6, 16)).astype(np.float32)
LABELS = np.arange(40) % 5


def searched(retriever):
    return retriever.search(CELLS[:3], 5)


class Pickled(unittest.TestCase):
    def copies(self, thing):
        yield copy.deepcopy(thing)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            yield pickle.loads(pickle.dumps(thing, protocol))

    def test_retrievers_find_the_same(self):
        unequal = [CELLS[i, : 1 + i % 6] for i in range(40)]
        long = [RNG.normal(size=(r, 16)) for r in (300, 7, 250)]
        for retriever in (diml.Retriever(CELLS), diml.Retriever(CELLS, CELLS[:, 0], weights=(1, 2), lambda_=0.07),
                          diml.Retriever(unequal), diml.Retriever(long, score="maxsim")):
            wanted = searched(retriever)
            for same in self.copies(retriever):
                for found, before in zip(searched(same), wanted):
                    self.assertEqual(found.tobytes(), before.tobytes())

    def test_a_process_takes_a_retriever(self):
        wanted = searched(diml.Retriever(CELLS))
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found, = pool.map(searched, [diml.Retriever(CELLS)])
        self.assertTrue((found[0] == wanted[0]).all() and (found[1] == wanted[1]).all())

    def test_matches_have_the_same_numbers_and_figures(self):
        m = diml.match(CELLS[0].reshape(2, 3, 16), CELLS[1, :4], marginals="uniform", lambda_=0.1)
        for same in self.copies(m):
            self.assertEqual((same.score, same.shapes, same.iterations), (m.score, m.shapes, m.iterations))
            self.assertEqual(same.plan.tobytes(), m.plan.tobytes())
            self.assertEqual(same._figure("json") if diml.features()["json"] else 0,
                             m._figure("json") if diml.features()["json"] else 0)

    def test_fitted_neighbours_predict_the_same(self):
        knn = diml.StructuralKNeighbors(3, rerank=20).fit(CELLS, LABELS)
        for same in self.copies(knn):
            self.assertEqual(same.predict(CELLS).tolist(), knn.predict(CELLS).tolist())
            self.assertEqual(same.kneighbors()[0].tobytes(), knn.kneighbors()[0].tobytes())

    def test_evaluations_keep_their_attributes(self):
        r = diml.evaluate(CELLS, None, LABELS)
        for same in self.copies(r):
            self.assertEqual((same, same.queries, same.per_class), (r, r.queries, r.per_class))

    @unittest.skipUnless(diml.features()["gallery"], "this build has no galleries")
    def test_galleries_and_embedders_are_opened_again(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "small.safetensors")
            diml.write_model(model, dim=8)
            with diml.Gallery(os.path.join(folder, "g"), shape=(6, 16)) as g:
                for thing, words in ((g, "open it again"), (diml.Embedder(model), "make one where")):
                    for call in (pickle.dumps, copy.copy, copy.deepcopy):
                        with self.assertRaisesRegex(TypeError, words):
                            call(thing)

    def test_what_is_no_state_is_refused(self):
        state = _inputs.grids(CELLS).__getstate__()
        (kind, size, cells, dim, values, globals), = state[0]
        for group in ((kind, size + 1, cells, dim, values, globals), (kind, size, cells, dim, values[:-4], globals),
                      (kind, size, cells, dim, values, b""), (kind, 0, cells, dim, b"", b"")):
            with self.assertRaisesRegex(diml.DamagedData, "make it again"):
                _diml.Grids.__setstate__(_diml.Grids.__new__(_diml.Grids), ([group], state[1]))
        with self.assertRaisesRegex(diml.DamagedData, "make it again"):
            _diml.Grids.__setstate__(_diml.Grids.__new__(_diml.Grids), (state[0], state[1] + size))


if __name__ == "__main__":
    unittest.main()
