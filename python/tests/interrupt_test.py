"""Every long call lets other threads of Python run, and ends on Ctrl-C."""

import os
import signal
import struct
import tempfile
import threading
import time
import unittest
import zlib

import numpy as np

import diml
from diml import _inputs
from photos import SMALL

RNG = np.random.default_rng(1)
SLOW = {"tolerance": 1e-300, "max_iterations": 100_000}  # of one pair: minutes


class Press(threading.Thread):
    """Counts while the main thread is in a call, which it can only where the GIL is free; then presses Ctrl-C."""

    def __init__(self, ticks, press=True):
        super().__init__(daemon=True)
        self.wanted, self.press = ticks, press
        self.ticks, self.pressed, self.ended = 0, 0.0, threading.Event()

    def run(self):
        while self.ticks < self.wanted and not self.ended.wait(0.01):
            self.ticks += 1
        self.pressed = time.monotonic()
        if self.press and not self.ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)


class Interrupts(unittest.TestCase):
    def setUp(self):
        # A program that a shell starts in the background ignores Ctrl-C.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def expect_end(self, call, ticks=15, within=3.0):
        """The call would go on for many seconds."""
        press = Press(ticks)
        press.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                call()
                press.ended.set()
                self.fail(f"the call ended before Ctrl-C, after {press.ticks} ticks")
        finally:
            press.join()
        self.assertEqual(press.ticks, ticks)
        self.assertLess(time.monotonic() - press.pressed, within)


class OfArrays(Interrupts):
    def test_scores_of_every_kind(self):
        A = RNG.normal(size=(600, 49, 32)).astype(np.float32)
        for how in ({"backend": "reference"}, {"backend": "exact"}, {"score": "maxsim"}, {}):
            with self.subTest(**how):
                self.expect_end(lambda: diml.similarity(A, A, layout="nrd", **how, **({} if how else SLOW)))

    def test_one_pair(self):
        a, b = (RNG.normal(size=(196, 32)) for _ in range(2))
        self.expect_end(lambda: diml.match(a, b, backend="reference", **SLOW))
        self.expect_end(lambda: diml.match(a, b, backend="cpu", tolerance=1e-300, max_iterations=10_000_000))

    def test_the_gap_and_the_figure_of_one_pair(self):
        a, b = (RNG.normal(size=(196, 32)) for _ in range(2))
        match = diml.match(a, b, backend="reference", tolerance=1e-300, max_iterations=600)
        self.expect_end(lambda: match.gap, ticks=10)
        if diml.features()["drawing"]:
            self.expect_end(match._repr_html_, ticks=10)

    def test_the_first_stage_of_a_search(self):
        gallery = diml.Retriever(RNG.normal(size=(100_000, 1, 256)).astype(np.float32))
        queries = RNG.normal(size=(60_000, 1, 256)).astype(np.float32)
        self.expect_end(lambda: gallery.search(queries, 10, rerank=0), ticks=40)

    def test_reranking_and_neighbours(self):
        cells = RNG.normal(size=(300, 49, 64)).astype(np.float32)
        knn = diml.StructuralKNeighbors(3, backend="reference").fit(cells, np.arange(300) % 3)
        self.expect_end(lambda: knn.predict(cells))
        candidates = np.tile(np.arange(300), (300, 1))
        self.expect_end(lambda: diml.rerank(cells, cells, candidates, backend="reference"))

    def test_evaluate(self):
        cells = RNG.normal(size=(300, 49, 64)).astype(np.float32)
        for depth in (100, "all"):
            self.expect_end(lambda: diml.evaluate(cells, None, np.arange(300) % 3, rerank=(depth,), backend="reference"))

    def test_normalisation_of_grids(self):
        diml.set_threads(1)
        self.addCleanup(diml.set_threads, 0)
        cells = np.ones((6_000_000, 1, 2), np.float32)
        self.expect_end(lambda: _inputs.grids(cells), ticks=8)

    @unittest.skipUnless(diml.features()["drawing"], "this build draws no pictures")
    def test_drawing(self):
        self.expect_end(lambda: diml.critters(60, 1000, 256))

    def test_reading_a_picture_lets_others_run(self):
        side = 3000
        rows = RNG.integers(0, 256, size=(side, 1 + 3 * side), dtype=np.uint8)
        rows[:, 0] = 4  # the slowest filter
        with tempfile.NamedTemporaryFile(suffix=".png") as file:
            def chunk(name, data):
                file.write(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)))

            file.write(b"\x89PNG\r\n\x1a\n")
            chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            chunk(b"IDAT", zlib.compress(rows.tobytes(), 1))
            chunk(b"IEND", b"")
            file.flush()
            others = Press(10_000, press=False)
            others.start()
            self.assertEqual(diml._diml.read_pixels(file.name).shape, (side, side, 3))
            others.ended.set()
            others.join()
        self.assertGreater(others.ticks, 3)


@unittest.skipUnless(diml.features()["gallery"], "this build has no galleries")
class OfGalleries(Interrupts):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_searches_of_grids_and_ids(self):
        cells = RNG.normal(size=(2000, 49, 64)).astype(np.float32)
        with diml.Gallery(os.path.join(self.folder, "g"), shape=(49, 64)) as g:
            g.add([str(i) for i in range(2000)], cells=cells)
            slow = {"rerank": 2000, "tolerance": 1e-300, "max_iterations": 5000}
            self.expect_end(lambda: g.search(cells, **slow))
            self.expect_end(lambda: g.search(list(range(2000)), **slow))

    def test_embedding_and_searches_of_pictures(self):
        model = os.path.join(self.folder, "model.safetensors")
        diml.write_model(model, "resnet18", dim=64)
        pictures = [RNG.integers(0, 256, size=(300, 300, 3), dtype=np.uint8)] * 1000
        e = diml.Embedder(model)
        self.expect_end(lambda: e(pictures), within=15.0)
        diml.write_model(model, dim=64)
        with diml.Gallery(os.path.join(self.folder, "g"), model, preprocessing=SMALL) as g:
            g.add(self.photos(3))
            self.expect_end(lambda: g.search(pictures * 10, rerank=0), within=6.0)

    def photos(self, count):
        diml.write_critters(os.path.join(self.folder, "critters"), count, 1, size=64)
        return [os.path.join(at, name) for at, _, names in os.walk(os.path.join(self.folder, "critters", "images"))
                for name in names]


if __name__ == "__main__":
    unittest.main()
