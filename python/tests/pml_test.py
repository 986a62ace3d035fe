"""diml.pml: the distance and inference interfaces of pytorch-metric-learning."""

import doctest
import importlib.util
import os
import pickle
import tempfile
import unittest
from unittest import mock

import numpy as np

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest("PyTorch is not there: install python3-torch") from error

import diml
import diml.pml
import pml_protocol

torch.set_num_threads(1)
RNG = np.random.default_rng(5)
LABELS = np.repeat(np.arange(5), 6)
CELLS = (RNG.normal(size=(5, 6, 8))[LABELS] + RNG.normal(size=(30, 6, 8))).astype(np.float32)
VECTORS = (CELLS.mean(1) + 0.2 * RNG.normal(size=(30, 8))).astype(np.float32)
GRID = (2, 3)


def packed(dtype=torch.float32):
    return diml.pml.pack(torch.from_numpy(CELLS), torch.from_numpy(VECTORS)).to(dtype)


def cosines():
    unit = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
    return unit @ unit.T


class Packing(unittest.TestCase):
    def test_cells_come_row_by_row_and_then_the_global(self):
        embeddings = packed()
        self.assertEqual(tuple(embeddings.shape), (30, 7 * 8))
        self.assertTrue((embeddings[3, 16:24].numpy() == CELLS[3, 2]).all())
        self.assertTrue((embeddings[3, 48:].numpy() == VECTORS[3]).all())
        cells, vectors = diml.pml.unpack(embeddings, GRID)
        self.assertTrue((cells.numpy() == CELLS).all() and (vectors.numpy() == VECTORS).all())
        feature_map = torch.from_numpy(CELLS).transpose(1, 2).reshape(30, 8, 2, 3)
        self.assertTrue((diml.pml.pack(feature_map) == diml.pml.pack(torch.from_numpy(CELLS))).all())

    def test_another_width_says_what_fits(self):
        bare = diml.pml.pack(torch.from_numpy(CELLS))
        with self.assertRaisesRegex(ValueError, "globals=False fits"):
            diml.pml.StructuralDistance(GRID)(bare)
        with self.assertRaisesRegex(ValueError, "name their grid"):
            diml.pml.StructuralDistance((5, 5))(bare)
        with self.assertRaisesRegex(ValueError, "images, width"):
            diml.pml.StructuralDistance(GRID)(bare[0])


class Distance(unittest.TestCase):
    def test_the_matrix_is_the_mean_of_both_similarities(self):
        structural = diml.similarity(CELLS, CELLS, globals=(VECTORS, VECTORS))
        for measure, wanted in (("blended", (cosines() + structural) / 2), ("structural", structural),
                                ("global", cosines())):
            distance = diml.pml.StructuralDistance(GRID, measure=measure)
            np.testing.assert_allclose(distance(packed()), wanted, atol=5e-6)
            np.testing.assert_allclose(distance(packed()[:4], packed()), wanted[:4], atol=5e-6)
            np.testing.assert_allclose(distance.pairwise_distance(packed()[:4], packed()[4:8]),
                                       np.diag(wanted[:4, 4:8]), atol=5e-6)

    def test_without_globals_the_means_of_cells_are_blended(self):
        bare = diml.pml.pack(torch.from_numpy(CELLS))
        whole = diml.pml.pack(torch.from_numpy(CELLS), torch.from_numpy(CELLS.mean(1)))
        unit = diml.pml.StructuralDistance(GRID).normalize(whole)
        np.testing.assert_allclose(unit[:, :8].norm(dim=1), np.ones(30), atol=1e-6)
        found = diml.pml.StructuralDistance(GRID, globals=False, normalize_embeddings=False)(bare)
        np.testing.assert_allclose(found, diml.pml.StructuralDistance(GRID)(whole), atol=5e-6)

    def test_the_length_of_an_embedding_changes_nothing(self):
        distance = diml.pml.StructuralDistance(GRID)
        scaled = packed() * torch.rand(30, 1).add(0.1)
        torch.testing.assert_close(distance(scaled), distance(packed()), atol=5e-6, rtol=0)

    def test_the_interface_of_a_base_distance(self):
        distance = diml.pml.StructuralDistance(GRID, power=2, collect_stats=True)
        plain = diml.pml.StructuralDistance(GRID)
        self.assertEqual((distance.is_inverted, distance.normalize_embeddings, distance.p, distance.power),
                         (True, True, 2, 2))
        matrix = plain(packed())
        torch.testing.assert_close(distance(packed()), matrix**2)
        torch.testing.assert_close(plain.compute_mat(packed(), packed()), matrix)
        self.assertTrue((plain.smallest_dist(matrix, dim=1)[0] == matrix.max(1)[0]).all())
        self.assertEqual(plain.largest_dist(matrix), matrix.min())
        self.assertEqual((plain.margin(0.9, 0.2), plain.margin(0.2, 0.9) > 0), (0.2 - 0.9, True))
        torch.testing.assert_close(plain.get_norm(packed()), packed().norm(dim=1))
        self.assertAlmostEqual(distance.initial_avg_query_norm, packed().norm(dim=1).mean().item(), places=4)
        self.assertAlmostEqual(distance.final_avg_ref_norm, 7**0.5, places=4)
        distance.reset_stats()
        self.assertEqual(distance.final_avg_ref_norm, 0)
        self.assertEqual(plain.maybe_normalize(packed()).shape, packed().shape)
        same = pickle.loads(pickle.dumps(plain))
        self.assertTrue((same(packed()) == matrix).all())

    def test_losses_and_miners_take_it_and_gradients_reach_the_embeddings(self):
        labels = torch.from_numpy(LABELS)
        for plan in ("constant", "unrolled"):
            distance = diml.pml.StructuralDistance(GRID, plan=plan)
            for loss in (pml_protocol.MultiSimilarityLoss(distance=distance), pml_protocol.TripletLoss(distance=distance)):
                embeddings = packed().requires_grad_()
                value = loss(embeddings, labels)
                value.backward()
                self.assertTrue(bool(torch.isfinite(embeddings.grad).all()))
                self.assertGreater(embeddings.grad.abs().max(), 0)
                with torch.no_grad():
                    self.assertLess(loss(embeddings - 0.5 * embeddings.grad / embeddings.grad.norm(), labels), value)
        far, near = pml_protocol.hardest(diml.pml.StructuralDistance(GRID), packed(), labels)
        self.assertTrue((labels[far] == labels).all() and (labels[near] != labels).all())

    def test_columns_are_normalised_as_rows_are(self):
        distance = diml.pml.StructuralDistance(GRID)
        torch.testing.assert_close(distance.normalize(packed().t(), dim=0).t(), distance.normalize(packed()))
        with self.assertRaisesRegex(ValueError, "dim is 2"):
            distance.normalize(packed(), dim=2)

    def test_a_grid_is_one_number_too_and_wrong_arguments_are_named(self):
        square = diml.pml.pack(torch.randn(5, 4, 8), torch.randn(5, 8))
        self.assertTrue((diml.pml.StructuralDistance(2)(square) == diml.pml.StructuralDistance((2, 2))(square)).all())
        for kind, words, call in ((ValueError, "grid is 0", lambda: diml.pml.StructuralDistance((0, 4))),
                                  (ValueError, "a pair is wanted", lambda: diml.pml.StructuralKNN(grid=(4, 4, 4))),
                                  (TypeError, "grid is 'wide'", lambda: diml.pml.StructuralKNN(grid="wide")),
                                  (TypeError, "embeddings is a ndarray", lambda: diml.pml.unpack(square.numpy(), 2)),
                                  (TypeError, "cells is a ndarray", lambda: diml.pml.pack(CELLS)),
                                  (ValueError, "cells is .6, 8.", lambda: diml.pml.pack(torch.from_numpy(CELLS[0]))),
                                  (ValueError, "rerank is -1", lambda: diml.pml.StructuralKNN(rerank=-1))):
            with self.assertRaisesRegex(kind, words):
                call()

    def test_halves_stay_halves(self):
        for dtype in (torch.float16, torch.bfloat16):
            matrix = diml.pml.StructuralDistance(GRID, measure="structural")(packed(dtype))
            self.assertEqual(matrix.dtype, dtype)


class Neighbours(unittest.TestCase):
    def wanted(self, rerank):
        """By plain numbers: the matrix of the distance in the head, cosines behind it."""
        blended = (cosines() + diml.similarity(CELLS, CELLS, globals=(VECTORS, VECTORS))) / 2
        lists = []
        for q in range(30):
            first = [i for i in np.argsort(-cosines()[q], kind="stable") if i != q]
            head = sorted(first[:rerank], key=lambda i: -blended[q, i])
            lists.append(head + first[rerank:])
        return np.array(lists), blended

    def test_lists_without_the_query_are_those_of_plain_numbers(self):
        for rerank in (0, 7, 100):
            knn = diml.pml.StructuralKNN(rerank=rerank, grid=GRID)
            values, indices = knn(packed(), 12, packed(), ref_includes_query=True)
            lists, blended = self.wanted(rerank)
            self.assertTrue((indices.numpy() == lists[:, :12]).all())
            own = np.take_along_axis(blended if rerank else cosines(), lists[:, :min(12, rerank or 12)], 1)
            np.testing.assert_allclose(values[:, :own.shape[1]], own, atol=5e-6)
            if rerank == 7:
                np.testing.assert_allclose(values[:, 7:], np.take_along_axis(cosines(), lists[:, 7:12], 1), atol=5e-6)

    def test_the_reference_may_be_kept_added_to_saved_and_loaded(self):
        knn = diml.pml.StructuralKNN(rerank=20, grid=GRID)
        with self.assertRaisesRegex(ValueError, "no reference"):
            knn(packed(), 1)
        wanted = knn(packed()[:4], 5, packed())
        self.assertEqual(wanted[1][:, 0].tolist(), [0, 1, 2, 3])
        knn.train(packed()[:10])
        knn.add(packed()[10:])
        with tempfile.TemporaryDirectory() as folder:
            knn.save(os.path.join(folder, "reference"))
            loaded = diml.pml.StructuralKNN(rerank=20, grid=GRID)
            loaded.load(os.path.join(folder, "reference"))
        for same in (knn, loaded):
            for x, y in zip(same(packed()[:4], 5), wanted):
                self.assertTrue((x == y).all())
        with self.assertRaisesRegex(ValueError, "from 1 to 29"):
            knn(packed(), 30, packed(), True)
        knn.reset()
        self.assertIsNone(knn.reference)

    def test_what_is_made_of_a_reference_is_kept_until_it_changes(self):
        knn = diml.pml.StructuralKNN(rerank=20, grid=GRID)
        made = []

        def counted(*arguments, **how):
            made.append(diml.Retriever(*arguments, **how))
            return made[-1]

        reference = packed()
        with mock.patch.object(diml.pml._search, "Retriever", counted):
            first = knn(packed()[:4], 5, reference)
            for _ in range(3):
                again = knn(packed()[:4], 5, reference)
                self.assertTrue((again[1] == first[1]).all() and (again[0] == first[0]).all())
            self.assertEqual(len(made), 1)
            with torch.no_grad():
                reference[:] = reference.flip(0)  # the same tensor with other numbers
            self.assertEqual(knn(packed()[:4], 1, reference)[1][:, 0].tolist(), [29, 28, 27, 26])
            self.assertEqual(len(made), 2)
            knn(packed()[:4], 1, packed())
            self.assertEqual(len(made), 3)
            with torch.inference_mode():
                for _ in range(2):
                    self.assertEqual(knn(packed()[:4], 1, packed())[1][:, 0].tolist(), [0, 1, 2, 3])
            knn.train(reference)
            for _ in range(2):
                self.assertEqual(knn(packed()[:4], 1)[1][:, 0].tolist(), [29, 28, 27, 26])
            self.assertEqual(len(made), 6)

    def test_both_names_of_the_fourth_argument(self):
        knn = diml.pml.StructuralKNN(rerank=20, grid=GRID)
        wanted = knn(packed(), 3, packed(), True)
        for name in ("ref_includes_query", "embeddings_come_from_same_source"):
            found = knn(packed(), 3, packed(), **{name: True})
            self.assertTrue((found[1] == wanted[1]).all())
            self.assertFalse((knn(packed(), 3, packed(), **{name: False})[1] == wanted[1]).all())

    def test_copies_of_one_image_do_not_list_themselves(self):
        same = packed()[:1].expand(8, -1)
        _, indices = diml.pml.StructuralKNN(rerank=3, grid=GRID)(same, 2, same, True)
        self.assertEqual(tuple(indices.shape), (8, 2))

    def test_the_inference_model_and_the_accuracy_calculator_take_it(self):
        knn = diml.pml.StructuralKNN(rerank=20, grid=GRID)
        model = pml_protocol.InferenceModel(lambda x: x * 3.0, knn, diml.pml.StructuralDistance(GRID))
        model.train_knn(packed()[:20])
        model.add_to_knn(packed()[20:])
        _, indices = model.get_nearest_neighbors(packed()[25:], 3)
        self.assertEqual(indices[:, 0].tolist(), [25, 26, 27, 28, 29])
        self.assertEqual(model.is_match(packed()[:2], packed()[[0, 20]]).tolist(), [True, False])
        wanted = diml.evaluate(CELLS, VECTORS, LABELS, rerank=(20,))
        found = pml_protocol.precision_at_1(knn, packed(), torch.from_numpy(LABELS))
        self.assertAlmostEqual(100 * found, wanted["p_at_1"][0], places=6)


if importlib.util.find_spec("pytorch_metric_learning") is not None:  # not packaged in Debian
    from pytorch_metric_learning import losses, miners, reducers
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
    from pytorch_metric_learning.utils.inference import CustomKNN, InferenceModel, MatchFinder

    class WithThePackage(unittest.TestCase):
        """The package itself, and whether the protocol here is its own."""

        def setUp(self):
            self.labels, self.distance = torch.from_numpy(LABELS), diml.pml.StructuralDistance(GRID)

        def test_the_protocol_is_its_own(self):
            for own, copied in ((losses.MultiSimilarityLoss(2, 50, 0.5, distance=self.distance),
                                 pml_protocol.MultiSimilarityLoss(distance=self.distance)),
                                (losses.TripletMarginLoss(0.1, distance=self.distance, reducer=reducers.MeanReducer()),
                                 pml_protocol.TripletLoss(0.1, self.distance))):
                torch.testing.assert_close(own(packed(), self.labels), copied(packed(), self.labels))
            far, near = pml_protocol.hardest(self.distance, packed(), self.labels)
            _, positive, negative = miners.BatchHardMiner(distance=self.distance)(packed(), self.labels)
            self.assertTrue(torch.equal(far, positive) and torch.equal(near, negative))

        def test_its_losses_train(self):
            width = packed().shape[1]
            for loss in (losses.ContrastiveLoss(1, 0, distance=self.distance), losses.NTXentLoss(distance=self.distance),
                         losses.MarginLoss(distance=self.distance), losses.NCALoss(distance=self.distance),
                         losses.SupConLoss(distance=self.distance), losses.LiftedStructureLoss(distance=self.distance),
                         losses.ProxyAnchorLoss(5, width, distance=self.distance),
                         losses.NormalizedSoftmaxLoss(5, width, distance=self.distance),
                         losses.CrossBatchMemory(losses.MultiSimilarityLoss(distance=self.distance), width, 64)):
                embeddings = packed().requires_grad_()
                loss(embeddings, self.labels).backward()
                self.assertGreater(embeddings.grad.abs().max(), 0, type(loss))
                self.assertTrue(bool(torch.isfinite(embeddings.grad).all()), type(loss))

        def test_its_inference(self):
            knn = diml.pml.StructuralKNN(rerank=100, grid=GRID)
            everything = CustomKNN(self.distance)(packed(), 5, packed(), True)
            for own, found in zip(everything, knn(packed(), 5, packed(), True)):
                torch.testing.assert_close(own, found, atol=5e-6, rtol=0)
            model = InferenceModel(torch.nn.Identity(), match_finder=MatchFinder(self.distance, 0.9), knn_func=knn,
                                   data_device=torch.device("cpu"))
            model.train_knn(packed())
            self.assertEqual(model.get_nearest_neighbors(packed()[7:9], 1)[1][:, 0].tolist(), [7, 8])
            self.assertTrue(model.is_match(packed()[:1], packed()[:1]))
            of_package = AccuracyCalculator(include=("precision_at_1", "mean_average_precision_at_r"), k="max_bin_count",
                                            knn_func=knn, device=torch.device("cpu")).get_accuracy(packed(), self.labels)
            wanted = diml.evaluate(CELLS, VECTORS, LABELS, rerank=(100,))
            for name, own in (("precision_at_1", "p_at_1"), ("mean_average_precision_at_r", "map_at_r")):
                self.assertAlmostEqual(100 * of_package[name], wanted[own][0], places=5)


class Examples(unittest.TestCase):
    def test_the_examples_in_docstrings_run(self):
        result = doctest.testmod(diml.pml)
        self.assertGreater(result.attempted, 0)
        self.assertEqual(result.failed, 0)


if __name__ == "__main__":
    unittest.main()
