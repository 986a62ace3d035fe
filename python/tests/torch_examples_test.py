"""The examples that need torch run and show what they promise."""

import importlib.util
import os
import tempfile
import unittest

import numpy as np

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest("PyTorch is not there: install python3-torch") from error

import diml

torch.set_num_threads(1)
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples")


def example(name):
    found = importlib.util.spec_from_file_location("example", os.path.join(FOLDER, name + ".py"))
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


class Examples(unittest.TestCase):
    def test_features_to_why(self):
        with tempfile.TemporaryDirectory() as folder:
            table, match = example("05_features_of_a_network").main(folder)
            with open(os.path.join(folder, "why.html")) as page:
                self.assertIn("<html", page.read())
        self.assertEqual(table["rerank"], [0, 20])
        self.assertGreater(table["map_at_r"][1], table["map_at_r"][0])
        self.assertAlmostEqual(float(match.plan.sum()), 1.0, places=3)

    def test_loss_of_pml(self):
        losses, right = example("06_loss_of_pytorch_metric_learning").main()
        self.assertLess(losses[-1], 0.8 * losses[0])
        self.assertGreater(right, 0.8)

    def test_rerank_faiss_hits(self):
        try:
            import faiss  # noqa: F401
        except ImportError:
            self.skipTest("FAISS is not there: install python3-faiss")
        ids, scores, best = example("08_rerank_tensors").main()
        self.assertIsInstance(best, torch.Tensor)
        self.assertTrue((best[:, 0].numpy() == np.arange(16)).all())
        self.assertTrue((np.diff(scores.numpy(), axis=1) <= 0).all())
        for own, hits in zip(best.numpy(), ids):
            self.assertLessEqual(set(own), set(hits))


class Training(unittest.TestCase):
    def test_three_epochs_with_our_distance_end_above_three_with_cosine(self):
        found = example("07_train_on_critters").main()
        plain, ours = found["global"], found["blended"]
        # With seven seeds the ratio was 1.35 to 2.3 without re-ranking and 1.6 to 2.7 with it; this is the first seed.
        for rerank in (0, 1):
            self.assertGreater(ours[rerank], 1.2 * plain[rerank])
        self.assertGreater(ours[0], 1.2 * plain[1])
        self.assertGreater(ours[1], ours[0])


if __name__ == "__main__":
    unittest.main()
