"""Tensors on an NVIDIA GPU: the results of the CPU, on the GPU's current stream, without copies through the host."""

import unittest

import numpy as np

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest("PyTorch is not there: install python3-torch") from error

import diml
import diml.torch

ON_GPU = torch.cuda.is_available() and diml.features()["cuda"]
RNG = np.random.default_rng(11)
KINDS = RNG.normal(size=(9, 16, 128))
LABELS = np.repeat(np.arange(9), 7)
CELLS = (KINDS[LABELS] + 1.5 * RNG.normal(size=(63, 16, 128))).astype(np.float32)
VECTORS = (CELLS.mean(1) + 0.2 * RNG.normal(size=(63, 128))).astype(np.float32)
# The reference in double precision: the one backend that every build has.
REFERENCE = {"backend": "reference"}


def copied_bytes(work):
    """Bytes that the profiler saw copied between host and device, each copy apart."""
    from torch.profiler import ProfilerActivity, profile
    work()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        work()
        torch.cuda.synchronize()
    return host_copies(seen)


def host_copies(profile):
    """[(name, bytes)] of the copies of a profile, read from its trace."""
    import json
    import os
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    return [(e["name"], int(e["args"]["bytes"])) for e in events
            if e.get("cat") == "gpu_memcpy" and ("HtoD" in e["name"] or "DtoH" in e["name"])]


@unittest.skipUnless(ON_GPU, "no GPU")
class OnAGpu(unittest.TestCase):
    def setUp(self):
        self.cells = torch.from_numpy(CELLS).cuda()
        self.vectors = torch.from_numpy(VECTORS).cuda()
        self.both = (self.vectors, self.vectors)
        self.sim = diml.torch.StructuralSimilarity()

    def wanted(self, pairs=None, cells=CELLS):
        return diml.similarity(cells, cells, pairs, globals=(VECTORS, VECTORS), **REFERENCE)

    def test_similarities_agree_and_stay_on_the_device(self):
        pairs = RNG.integers(0, 63, size=(500, 2))
        for found, wanted in (
                (diml.similarity(self.cells, self.cells, globals=self.both), self.wanted()),
                (diml.similarity(self.cells, self.cells, pairs, globals=self.both), self.wanted(pairs)),
                (diml.similarity(self.cells, self.cells, torch.from_numpy(pairs).cuda(), globals=self.both),
                 self.wanted(pairs)),
                (self.sim(self.cells, self.cells, self.both, "all"), self.wanted())):
            self.assertEqual((found.device, found.dtype), (self.cells.device, torch.float32))
            np.testing.assert_allclose(found.cpu().numpy(), wanted, atol=1e-4)

    def test_halves_are_matched_in_their_type(self):
        wanted = self.wanted()
        for dtype, tolerance in ((torch.float16, 5e-4), (torch.bfloat16, 4e-3)):
            found = diml.similarity(self.cells.to(dtype), self.cells.to(dtype), globals=self.both)
            np.testing.assert_allclose(found.cpu().numpy(), wanted, atol=tolerance)
            found = self.sim(self.cells.to(dtype), self.cells.to(dtype), self.both, "all")
            self.assertEqual(found.dtype, dtype)
            np.testing.assert_allclose(found.float().cpu().numpy(), wanted, atol=10 * tolerance)

    def test_lists_and_maxsim_agree(self):
        left = [CELLS[i, :r] for i, r in enumerate((3, 16, 3, 5))]
        right = [CELLS[i, :r] for i, r in enumerate((4, 2, 6))]
        there = [[torch.from_numpy(x).cuda() for x in side] for side in (left, right)]
        for score in ("structural", "maxsim"):
            np.testing.assert_allclose(diml.similarity(*there, score=score).cpu().numpy(),
                                       diml.similarity(left, right, score=score, **REFERENCE), atol=1e-4)

    def test_searches_find_the_same_images(self):
        wanted = diml.Retriever(CELLS, VECTORS, **REFERENCE).search(CELLS[:9], 20, globals=VECTORS[:9], rerank=30)
        found = diml.Retriever(self.cells, self.vectors).search(self.cells[:9], 20, globals=self.vectors[:9], rerank=30)
        self.assertEqual(found[1].device, self.cells.device)
        self.assertTrue((found[1].cpu().numpy() == wanted[1]).all())
        np.testing.assert_allclose(found[0].cpu().numpy(), wanted[0], atol=2e-4)
        candidates = RNG.integers(-1, 63, size=(5, 12))
        wanted = diml.rerank(CELLS[:5], CELLS, candidates, 4, **REFERENCE)
        for given in (candidates, torch.from_numpy(candidates).cuda()):
            found = diml.rerank(self.cells[:5], self.cells, given, 4)
            self.assertTrue((found[1].cpu().numpy() == wanted[1]).all())
        one = diml.rerank(self.cells[0], self.cells, candidates[0], 4)
        self.assertTrue((one[1].cpu().numpy() == wanted[1][0]).all())

    def test_evaluations_agree(self):
        found = diml.evaluate(self.cells, self.vectors, torch.from_numpy(LABELS).cuda(), rerank=(0, 5, "all"))
        wanted = diml.evaluate(CELLS, VECTORS, LABELS, rerank=(0, 5, "all"), **REFERENCE)
        self.assertEqual(list(found), list(wanted))
        for name in wanted:
            np.testing.assert_allclose(found[name], wanted[name], atol=0.5)  # a pair or two of 63 may change places

    def test_neighbours_agree_where_the_tensors_lie(self):
        wanted = diml.StructuralKNeighbors(3, rerank=20, **REFERENCE).fit(CELLS, LABELS)
        knn = diml.StructuralKNeighbors(3, rerank=20).fit(self.cells, LABELS)
        distances, ids = knn.kneighbors()
        self.assertEqual((distances.device, ids.device), (self.cells.device, self.cells.device))
        self.assertTrue((ids.cpu().numpy() == wanted.kneighbors()[1]).all())
        np.testing.assert_allclose(distances.cpu().numpy(), wanted.kneighbors()[0], atol=2e-4)
        self.assertEqual(knn.predict(self.cells).tolist(), wanted.predict(CELLS).tolist())

    def test_gradients_are_those_of_the_cpu(self):
        for plan in ("constant", "unrolled"):
            sim = diml.torch.StructuralSimilarity(plan, lambda_=0.1)
            for pairs in ("all", "aligned", torch.tensor([[0, 3], [2, 1], [2, 2]])):
                found = []
                for device in ("cuda", "cpu"):
                    a, b = (torch.from_numpy(c).to(device).requires_grad_() for c in (CELLS[:5], CELLS[5:10]))
                    listed = pairs if isinstance(pairs, str) else pairs.to(device)
                    sim(a, b, pairs=listed).square().sum().backward()
                    found.append((a.grad.cpu(), b.grad.cpu()))
                for x, y in zip(*found):
                    torch.testing.assert_close(x, y, atol=2e-4, rtol=2e-2)

    def test_gradcheck_in_double(self):
        a, b = (torch.from_numpy(c[:, :5, :4]).double().cuda().requires_grad_() for c in (CELLS[:2], CELLS[5:7]))
        mass = self.sim.plans(a, b)
        self.assertTrue(torch.autograd.gradcheck(lambda x, y: self.sim(x, y, plans=mass), (a, b)))
        unrolled = diml.torch.StructuralSimilarity("unrolled", lambda_=0.2, tolerance=1e-300, max_iterations=5)
        self.assertTrue(torch.autograd.gradcheck(lambda x, y: unrolled(x, y), (a, b)))

    def test_a_pair_does_not_depend_on_its_batch(self):
        whole = self.sim(self.cells[:30], self.cells[30:60])
        for k in (0, 7, 29):
            self.assertEqual(whole[k].item(), self.sim(self.cells[k:k + 1], self.cells[30 + k:31 + k]).item())

    def test_work_is_queued_on_the_current_stream(self):
        # The cells are written on a stream that is busy: whoever reads them on another reads zeros.
        wanted = self.sim(self.cells, self.cells.flip(0))
        stream = torch.cuda.Stream()
        slow = torch.randn(4096, 4096, device="cuda")
        for _ in range(3):
            a = torch.zeros_like(self.cells)
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                for _ in range(40):
                    slow = torch.nn.functional.normalize(slow @ slow)
                a.copy_(self.cells)
                found = self.sim(a, self.cells.flip(0))
            stream.synchronize()
            self.assertTrue(torch.equal(found, wanted))

    def test_no_grid_is_copied_through_the_host(self):
        # Control numbers alone cross: whether all vectors have length 1, the least and largest index.
        small = 64
        pairs = torch.randint(0, 63, (2000, 2), device="cuda")

        def train():
            cells = self.cells.clone().requires_grad_()
            self.sim(cells, cells, pairs="all").sum().backward()

        for work in (train, lambda: self.sim(self.cells, self.cells),
                     lambda: diml.similarity(self.cells, self.cells, pairs, globals=self.both),
                     lambda: diml.rerank(self.cells, self.cells, torch.arange(63, device="cuda").expand(63, -1)),
                     lambda: diml.Retriever(self.cells).search(self.cells, 5),
                     lambda: diml.StructuralKNeighbors(5).fit(self.cells, LABELS).kneighbors()):
            for name, size in copied_bytes(work):
                self.assertLessEqual(size, small, name)
        grid_bytes = self.cells.numel() * 4
        copies = copied_bytes(lambda: diml.evaluate(self.cells, self.vectors, LABELS, rerank=(0, 20)))
        self.assertLess(sum(size for _, size in copies), grid_bytes // 8)

    def test_the_profiler_sees_a_copy_where_there_is_one(self):
        self.assertIn(CELLS.nbytes, [size for _, size in copied_bytes(lambda: self.cells.cpu())])

    def test_training_does_not_wait_for_the_gpu(self):
        cells = self.cells.clone().requires_grad_()
        self.sim(cells, cells, pairs="all").sum().backward()
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            self.sim(cells, cells, pairs="all").sum().backward()
            self.sim(cells, cells).sum().backward()
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def test_bad_input_says_what_is_wanted(self):
        with self.assertRaisesRegex(ValueError, "one device"):
            diml.similarity(self.cells, torch.from_numpy(CELLS))
        with self.assertRaisesRegex(ValueError, "pair 1 is"):
            diml.similarity(self.cells, self.cells, [(0, 1), (0, 63)])
        with self.assertRaisesRegex(ValueError, "NaN or infinity"):
            diml.similarity(self.cells * float("nan"), self.cells)

    def test_several_devices(self):
        if torch.cuda.device_count() < 2:
            self.skipTest("no GPU beside the first")
        last = torch.device("cuda", torch.cuda.device_count() - 1)
        found = diml.similarity(self.cells.to(last), self.cells.to(last))
        self.assertEqual(found.device, last)
        np.testing.assert_allclose(found.cpu().numpy(), diml.similarity(CELLS, CELLS, **REFERENCE), atol=1e-4)


if __name__ == "__main__":
    unittest.main()
