"""similarity(), rerank(), Retriever and evaluate() of tensors: torch in, torch out, and what runs on a GPU agrees with the
compiled part. Here that code runs on the CPU's memory; torch_cuda_test runs it on a card."""

import pickle
import unittest
import warnings
from unittest import mock

import numpy as np

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest("PyTorch is not there: install python3-torch") from error

import diml
from diml import _diml, _inputs, _settings, _tensor_search, _tensors

torch.set_num_threads(1)
RNG = np.random.default_rng(11)
KINDS = RNG.normal(size=(9, 6, 16))
LABELS = np.repeat(np.arange(9), 7)
CELLS = (KINDS[LABELS] + 1.5 * RNG.normal(size=(63, 6, 16))).astype(np.float32)
VECTORS = (CELLS.mean(1) + 0.2 * RNG.normal(size=(63, 16))).astype(np.float32)


def tensors(*arrays):
    return tuple(torch.from_numpy(a) for a in arrays)


def how(weights=(1.0, 1.0), score="structural"):
    return _tensor_search.How(weights, score, _settings.params("cross_correlation", 0.05, 1e-4, 1000), "auto")


def on_device():
    """Tensors count as tensors on a GPU: the public calls take the code for it."""
    return mock.patch.object(_inputs, "on_gpu", lambda x: _inputs.is_tensor(x[0] if isinstance(x, list) else x))


class TorchInTorchOut(unittest.TestCase):
    def setUp(self):
        self.cells, self.vectors = tensors(CELLS, VECTORS)

    def test_results_are_tensors_with_the_bits_of_numpy(self):
        found = diml.similarity(self.cells, self.cells, globals=(self.vectors, self.vectors))
        self.assertIsInstance(found, torch.Tensor)
        self.assertTrue((found.numpy() == diml.similarity(CELLS, CELLS, globals=(VECTORS, VECTORS))).all())
        for mine, own in ((diml.Retriever(self.cells, self.vectors).search(self.cells[:5], 7),
                           diml.Retriever(CELLS, VECTORS).search(CELLS[:5], 7)),
                          (diml.rerank(self.cells[:5], self.cells, torch.arange(50).view(5, 10)),
                           diml.rerank(CELLS[:5], CELLS, np.arange(50).reshape(5, 10)))):
            for x, y in zip(mine, own):
                self.assertIsInstance(x, torch.Tensor)
                self.assertTrue((x.numpy() == y).all())
        self.assertEqual(diml.evaluate(self.cells, self.vectors, torch.from_numpy(LABELS)),
                         diml.evaluate(CELLS, VECTORS, LABELS))

    def test_a_contiguous_tensor_is_used_where_it_lies(self):
        cells = _tensors.unit(self.cells)
        for _ in range(3):  # to the last bit, as the compiled part wants it
            cells = torch.nn.functional.normalize(cells.double(), dim=2).float()
        held = _inputs.grids(cells, None)
        self.assertEqual(held.copied_cells, 0)
        self.assertEqual(held.cells_address(3), cells[3].data_ptr())

    def test_a_match_has_the_kind_of_its_cells(self):
        own = diml.match(self.cells[0], self.cells[1])
        wanted = diml.match(CELLS[0], CELLS[1])
        for array, other in ((own.plan, wanted.plan), (own.similarity, wanted.similarity),
                             (own.marginals[0], wanted.marginals[0]), (own.marginals[1], wanted.marginals[1])):
            self.assertIsInstance(array, torch.Tensor)
            self.assertTrue((array.numpy() == other).all())
        self.assertIsInstance(wanted.plan, np.ndarray)

    def test_neighbours_have_the_kind_of_the_queries_and_labels(self):
        knn = diml.StructuralKNeighbors(3).fit(self.cells, torch.from_numpy(LABELS))
        wanted = diml.StructuralKNeighbors(3).fit(CELLS, LABELS)
        for found, other in ((knn.predict(self.cells), wanted.predict(CELLS)),
                             (knn.predict_proba(self.cells), wanted.predict_proba(CELLS)),
                             (knn.kneighbors()[0], wanted.kneighbors()[0]), (knn.kneighbors()[1], wanted.kneighbors()[1])):
            self.assertIsInstance(found, torch.Tensor)
            self.assertTrue((found.numpy() == other).all())
        self.assertIsInstance(knn.kneighbors(CELLS)[0], np.ndarray)
        self.assertEqual(knn.score(self.cells, torch.from_numpy(LABELS)), wanted.score(CELLS, LABELS))

    def test_fitted_neighbours_of_tensors_are_pickled(self):
        knn = diml.StructuralKNeighbors(3).fit(self.cells, torch.from_numpy(LABELS))
        same = pickle.loads(pickle.dumps(knn))
        self.assertTrue(torch.equal(same.predict(self.cells), knn.predict(self.cells)))
        self.assertTrue(torch.equal(same.kneighbors()[0], knn.kneighbors()[0]))

    def test_arrays_of_other_libraries_on_a_device_come_as_tensors(self):
        class Other:
            """Lends what NumPy cannot take, as memory of a GPU."""

            def __init__(self, tensor):
                self.tensor = tensor

            def __dlpack__(self, stream=None):
                return self.tensor.__dlpack__()

            def __dlpack_device__(self):
                return 2, 0

        with mock.patch.object(torch, "from_dlpack", lambda x: x.tensor), on_device():
            found = diml.similarity(Other(self.cells), Other(self.cells))
        np.testing.assert_allclose(found, diml.similarity(CELLS, CELLS), atol=2e-6)
        half = self.cells.to(torch.bfloat16)

        class Half(Other):
            def __dlpack_device__(self):
                return 1, 0

        self.assertTrue((diml.similarity(Half(half), Half(half)) == diml.similarity(half, half).numpy()).all())

    def test_tensors_that_need_a_gradient_and_halves_are_taken(self):
        grad = self.cells.clone().requires_grad_()
        self.assertTrue((diml.similarity(grad, grad) == diml.similarity(self.cells, self.cells)).all())
        for dtype in (torch.float16, torch.bfloat16):
            half = self.cells.to(dtype)
            self.assertTrue((diml.similarity(half, half) == diml.similarity(half.float(), half.float())).all())


class OnTheDevice(unittest.TestCase):
    """The code for a GPU, against the compiled part."""

    def setUp(self):
        self.cells, self.vectors = tensors(CELLS, VECTORS)

    def test_similarities_agree_for_all_pairs_some_pairs_and_unequal_grids(self):
        params = how().params
        near = dict(atol=2e-6, rtol=0)
        both = (self.vectors, self.vectors)
        found = _tensor_search.similarity(self.cells, self.cells, None, both, "structural", params, "auto", None)
        np.testing.assert_allclose(found, diml.similarity(CELLS, CELLS, globals=(VECTORS, VECTORS)), **near)
        pairs = RNG.integers(0, 63, size=(200, 2))
        for score in ("structural", "maxsim"):
            found = _tensor_search.similarity(self.cells, self.cells, pairs, both, score, params, "auto", None)
            np.testing.assert_allclose(
                found, diml.similarity(CELLS, CELLS, pairs, globals=(VECTORS, VECTORS), score=score), **near)
        left = [self.cells[i, :r] for i, r in enumerate((3, 6, 3, 5))]
        right = [self.cells[i, :r] for i, r in enumerate((4, 2, 6))]
        lists = [[x.numpy() for x in side] for side in (left, right)]
        for score in ("structural", "maxsim"):
            found = _tensor_search.similarity(left, right, None, (None, None), score, params, "auto", None)
            np.testing.assert_allclose(found, diml.similarity(*lists, score=score), **near)
        some = [(3, 2), (0, 1), (1, 0)]
        found = _tensor_search.similarity(left, right, some, (None, None), "structural", params, "auto", None)
        np.testing.assert_allclose(found, diml.similarity(*lists, some), **near)

    def test_lists_of_hits_agree(self):
        wanted = diml.Retriever(CELLS, VECTORS).search(CELLS[:9], 20, globals=VECTORS[:9], rerank=12)
        held = _tensor_search.Gallery(self.cells, self.vectors)
        found = held.search(self.cells[:9], self.vectors[:9], 20, 12, how(), None)
        self.assertTrue((found[1].numpy() == wanted[1]).all())
        np.testing.assert_allclose(found[0], wanted[0], atol=2e-6)
        for weights in ((1.0, 0.0), (0.25, 2.0)):
            wanted = diml.Retriever(CELLS, weights=weights).search(CELLS[:9], 70, rerank=100)
            found = _tensor_search.Gallery(self.cells, None).search(self.cells[:9], None, 70, 100, how(weights), None)
            self.assertTrue((found[1].numpy() == wanted[1]).all())
            self.assertEqual(found[1][0, 62:].tolist()[1:], [-1] * 7)

    def test_candidates_may_be_none_and_equal_scores_go_by_id(self):
        candidates = np.array([[5, -1, 9, 30], [-1, -1, -1, -1], [2, 1, 0, -1]])
        copies = np.concatenate([CELLS[:1]] * 3 + [CELLS[3:]])
        for gallery in (CELLS, copies):
            wanted = diml.rerank(CELLS[:3], gallery, candidates, k=5)
            found = _tensor_search.rerank(self.cells[:3], torch.from_numpy(gallery), candidates, 5, (None, None), how(),
                                          None)
            self.assertTrue((found[1].numpy() == wanted[1]).all())
            np.testing.assert_allclose(found[0], wanted[0], atol=2e-6)
        self.assertEqual(found[1][2].tolist(), [0, 1, 2, -1, -1])
        with on_device():
            one = diml.rerank(self.cells[0], self.cells, [4, 7, -1], 2)
        self.assertTrue((one[1].numpy() == diml.rerank(CELLS[0], CELLS, [4, 7, -1], k=2)[1]).all())

    def test_neighbours_agree(self):
        for how_many in ({}, {"rerank": 0}, {"rerank": 3}, {"n_neighbors": 62}, {"weights": (0.5, 2.0)}):
            wanted = diml.StructuralKNeighbors(**how_many).fit(CELLS, LABELS)
            with on_device():
                knn = diml.StructuralKNeighbors(**how_many).fit(self.cells, LABELS)
                self.assertIsInstance(knn._grids, _tensor_search.Gallery)
                for queries in (None, self.cells[:9]):
                    distances, ids = knn.kneighbors(queries)
                    other = wanted.kneighbors(None if queries is None else CELLS[:9])
                    self.assertTrue((ids.numpy() == other[1]).all())
                    np.testing.assert_allclose(distances, other[0], atol=2e-6)
                self.assertEqual(knn.predict(self.cells[:9]).tolist(), wanted.predict(CELLS[:9]).tolist())
                self.assertTrue((knn.predict_proba(self.cells[:9]).numpy() == wanted.predict_proba(CELLS[:9])).all())
                self.assertEqual(knn.score(None, LABELS), wanted.score(None, LABELS))
                with self.assertRaisesRegex(ValueError, "different memory"):
                    knn.predict(CELLS[:9])

    def test_numbers_of_images_are_taken_as_numpy_has_them(self):
        pairs = RNG.integers(0, 63, size=(40, 2))
        fixed = pairs.copy()
        fixed.flags.writeable = False
        wanted = diml.similarity(CELLS, CELLS, pairs)
        candidates = np.tile(pairs[:9, 0], (5, 1))
        found = diml.rerank(CELLS[:5], CELLS, candidates, 4)[1]
        kinds = (lambda x: x, lambda x: x.astype(np.uint32), lambda x: x.astype(">i8"), lambda x: x.astype(np.uint8),
                 lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x[::-1].copy()[::-1], lambda x: x.tolist(),
                 lambda x: torch.from_numpy(x.astype(np.int32)))
        for kind in kinds:
            with on_device(), warnings.catch_warnings():
                warnings.simplefilter("error")
                np.testing.assert_allclose(diml.similarity(self.cells, self.cells, kind(pairs)), wanted, atol=2e-6)
                self.assertTrue((diml.rerank(self.cells[:5], self.cells, kind(candidates), 4)[1].numpy() == found).all())
        with on_device(), warnings.catch_warnings():
            warnings.simplefilter("error")  # of a tensor that shares memory which must not be written
            np.testing.assert_allclose(diml.similarity(self.cells, self.cells, fixed), wanted, atol=2e-6)
            self.assertEqual(tuple(diml.similarity(self.cells, self.cells, []).shape), (0,))
            with self.assertRaisesRegex(TypeError, "integers are wanted"):
                diml.similarity(self.cells, self.cells, [(0.5, 1.0)])

    def test_long_lists_of_late_interaction(self):
        lists = [RNG.normal(size=(r, 8)).astype(np.float32) for r in (3, 250, 7)]
        wanted = diml.similarity(lists, lists, score="maxsim")
        listed = [torch.from_numpy(x) for x in lists]
        candidates = np.tile([0, 2, 1, -1], (3, 1))
        with on_device():
            np.testing.assert_allclose(diml.similarity(listed, listed, score="maxsim"), wanted, atol=2e-6)
            with self.assertRaisesRegex(ValueError, "196 cells"):
                diml.similarity(listed, listed)
            for found, other in ((diml.rerank(listed, listed, candidates, 3, score="maxsim"),
                                  diml.rerank(lists, lists, candidates, 3, score="maxsim")),
                                 (diml.Retriever(listed, score="maxsim").search(listed, 2),
                                  diml.Retriever(lists, score="maxsim").search(lists, 2))):
                self.assertTrue((found[1].numpy() == other[1]).all())
                np.testing.assert_allclose(found[0], other[0], atol=2e-6)

    def test_maps_of_features(self):
        maps = torch.from_numpy(RNG.normal(size=(10, 16, 3, 3)).astype(np.float32))
        cells = maps.flatten(2).transpose(1, 2).contiguous().numpy()
        wanted = diml.similarity(cells, cells)
        for layout, same in (("nchw", maps), ("nchw", maps.contiguous(memory_format=torch.channels_last)),
                             ("nhwc", maps.permute(0, 2, 3, 1))):
            self.assertTrue((diml.similarity(same, same, layout=layout).numpy() == wanted).all())
            with on_device():
                np.testing.assert_allclose(diml.similarity(same, same, layout=layout), wanted, atol=2e-6)

    def test_evaluations_agree_to_the_bit(self):
        labels = LABELS.copy()
        labels[[4, 40]] = -1
        labels[9] = 77  # alone in its class
        for depths in ([0, 5, 20], [62], [0]):
            found = _tensor_search.evaluate(self.cells, self.vectors, labels, depths, how(), None)
            wanted = _diml.evaluate(_diml.grids_of_array(CELLS, VECTORS, False), labels.tolist(), depths, (1.0, 1.0), "auto",
                                    how().params, None)
            self.assertEqual(found, wanted)

    def test_keys_order_as_scores_and_ids_do(self):
        scores = torch.tensor([0.5, -0.5, 0.0, -0.0, -1e-30, 1e30, 0.5, -3.0])
        ids = torch.tensor([7, 1, 2, 3, 4, 5, 6, -1])
        keys = torch.sort(_tensors.keys_of(scores, ids), descending=True)[0]
        back, order = _tensors.of_keys(keys)
        self.assertEqual(order.tolist(), [5, 6, 7, 2, 3, 4, 1, -1])
        self.assertEqual(back[:3].tolist(), [scores[5].item(), 0.5, 0.5])
        self.assertEqual(back[-1].item(), float("-inf"))

    def test_bad_input_says_what_is_wanted(self):
        broken = self.cells.clone()
        broken[2, 1, 1] = float("inf")
        none = (None, None)
        for wrong, words in (
                (lambda: _tensors.grids(broken), r"cells\[2\]: a grid holds NaN or infinity"),
                (lambda: _tensors.grids(self.cells, broken[:, 1]), r"the globals of cells\[2\]"),
                (lambda: _tensors.grids(self.cells[0]), "images, cells, dimensions"),
                (lambda: _tensor_search.similarity(self.cells, self.cells[..., :4], None, none, "structural",
                                                   how().params, "auto", None), "one model"),
                (lambda: _tensor_search.similarity(self.cells, self.cells, [(0, 63)], none, "structural",
                                                   how().params, "auto", None), "pair 0 is"),
                (lambda: _tensor_search.rerank(self.cells[:1], self.cells, [[63]], 1, none, how(), None), "image 63"),
                (lambda: _tensor_search.evaluate(self.cells, None, LABELS[:5], [0], how(), None), "63 grids and 5"),
                (lambda: _tensor_search.evaluate(self.cells, None, np.arange(63), [0], how(), None), "alone in its"),
                (lambda: how((0.0, 0.0)), "not both 0")):
            with self.assertRaisesRegex(ValueError, words):
                wrong()

    def test_a_build_without_cuda_goes_through_the_host_and_says_so(self):
        grids = _tensors.grids(self.cells, self.vectors)
        wanted = _tensors.match(grids, grids, how().params, plans=True)
        with self.assertWarnsRegex(RuntimeWarning, "copied to the host"):
            found = _tensors._through_the_host(grids, grids, how().params, None, True, "auto", None)
        for x, y in zip(found, wanted):
            self.assertTrue((x == y).all())
        with self.assertRaisesRegex(NotImplementedError, "no CUDA"):
            _tensors._through_the_host(grids, grids, how().params, None, False, "cuda", None)

    def test_large_and_small_vectors_are_normalised(self):
        for factor in (1e-30, 1e30):
            torch.testing.assert_close(_tensors.unit(self.cells * factor), _tensors.unit(self.cells))
        zero = self.cells.clone()
        zero[0, 0] = 0
        self.assertEqual(_tensors.unit(zero)[0, 0].abs().sum().item(), 0.0)


if __name__ == "__main__":
    unittest.main()
