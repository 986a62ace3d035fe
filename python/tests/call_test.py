"""What goes in and what comes out: types, strides, addresses, errors, Ctrl-C."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import numpy as np

import diml
from diml import _diml, _inputs

RNG = np.random.default_rng(7)


def unit(x):
    x = x.astype(np.float64)
    for _ in range(3):
        x = (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32).astype(np.float64)
    return x.astype(np.float32)


class BFloat16(np.ndarray):
    """What ml_dtypes makes of bits: an array whose type is called bfloat16."""

    @property
    def dtype(self):
        class Type:
            kind, name = "V", "bfloat16"

        return Type

    def view(self, kind):
        assert kind == np.uint16
        return np.ndarray.view(self, np.ndarray)


def resident_kilobytes():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Inputs(unittest.TestCase):
    def test_unit_float32_is_used_where_it_lies(self):
        cells = unit(RNG.normal(size=(5, 6, 32)))
        vectors = unit(RNG.normal(size=(5, 32)))
        cells.flags.writeable = False
        grids = _diml.grids_of_array(cells, vectors, False)
        self.assertEqual((grids.copied_cells, grids.copied_globals), (0, 0))
        self.assertEqual(grids.cells_address(0), cells.ctypes.data)
        self.assertEqual(grids.cells_address(4), cells[4].ctypes.data)
        self.assertEqual(grids.global_address(4), vectors[4].ctypes.data)

    def test_arrays_that_numpy_normalised_are_used_where_they_lie(self):
        for dim in (16, 128, 512):
            x = RNG.normal(size=(2000, 16, dim)).astype(np.float32)
            x /= np.linalg.norm(x, axis=-1, keepdims=True)
            grids = _inputs.grids(x)
            self.assertEqual(grids.copied_cells, 0)
            self.assertEqual(grids.cells_address(1999), x[1999].ctypes.data)

    def test_few_grids_of_another_scale_are_copied_alone(self):
        x = RNG.normal(size=(100, 6, 32)).astype(np.float32)
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        x[17] *= 3
        x[60, 2] *= 1.001
        grids = _inputs.grids(x)
        self.assertEqual(grids.copied_cells, 2)
        for i in (0, 16, 18, 59, 61, 99):
            self.assertEqual(grids.cells_address(i), x[i].ctypes.data)
        for i in (17, 60):
            self.assertNotEqual(grids.cells_address(i), x[i].ctypes.data)
        wanted = diml.similarity([g for g in x], [g for g in x])
        self.assertTrue((diml.similarity(x, x) == wanted).all())
        labels = np.arange(100) % 9
        self.assertEqual(diml.evaluate(x, None, labels), diml.evaluate(x * 2, None, labels))

    def test_bfloat16_is_taken_by_its_name_and_by_its_bits(self):
        halves = (RNG.normal(size=(4, 6, 8)).astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
        bits = (halves.view(np.uint32) >> 16).astype(np.uint16)
        self.assertTrue((diml.from_bfloat16(bits) == halves).all())
        self.assertTrue((diml.from_bfloat16(bits[:, ::-2, 1:]) == halves[:, ::-2, 1:]).all())
        with self.assertRaisesRegex(TypeError, "uint16"):
            diml.from_bfloat16(halves)
        wanted = diml.similarity(halves, halves)
        try:
            import ml_dtypes
        except ImportError:  # not in Debian: an array with its type's name stands for it
            named = bits.view(BFloat16)
        else:
            named = halves.astype(ml_dtypes.bfloat16)
        self.assertTrue((diml.similarity(named, [n for n in named]) == wanted).all())
        self.assertEqual(diml.match(named[0], named[1]).score, diml.match(halves[0], halves[1]).score)

    def test_a_large_array_in_place_takes_no_memory(self):
        cells = RNG.normal(size=(4000, 16, 128)).astype(np.float32)  # 33 MB
        cells /= np.linalg.norm(cells, axis=-1, keepdims=True)
        pairs = RNG.integers(0, 4000, size=(500, 2))
        diml.similarity(cells[:8], cells[:8])  # threads have started
        before = resident_kilobytes()
        retriever = diml.Retriever(cells)
        diml.similarity(cells, cells, pairs)
        taken = resident_kilobytes() - before
        self.assertLess(taken, cells.nbytes // 1024 // 3)
        scaled = diml.Retriever(cells * np.float32(2))  # and a copy is seen
        self.assertGreater(resident_kilobytes() - before, cells.nbytes // 1024 * 0.9)
        self.assertEqual((len(retriever), len(scaled)), (4000, 4000))

    def test_other_scales_are_copied_and_the_input_stays(self):
        cells = (3 * RNG.normal(size=(5, 6, 32))).astype(np.float32)
        before = cells.copy()
        self.assertEqual(_diml.grids_of_array(cells, None, False).copied_cells, 5)
        self.assertTrue((cells == before).all())

    def test_types_and_strides_give_the_same_scores(self):
        halves = RNG.normal(size=(4, 6, 8)).astype(np.float16)
        wanted = diml.similarity(halves.astype(np.float32), halves.astype(np.float32))
        for same in (halves, halves.astype(np.float64), halves.astype(">f4"), np.asfortranarray(halves),
                     np.repeat(halves, 2, axis=2)[:, :, ::2], [h for h in halves]):
            self.assertTrue((diml.similarity(same, same) == wanted).all())
        whole = RNG.integers(-9, 9, size=(4, 6, 8))
        self.assertTrue((diml.similarity(whole, whole) == diml.similarity(whole * 1.0, whole * 1.0)).all())

    def test_bad_input_says_what_is_wanted(self):
        good = RNG.normal(size=(3, 4, 8))
        with self.assertRaisesRegex(ValueError, "NaN or infinity"):
            diml.similarity(good * np.nan, good)
        with self.assertRaisesRegex(diml.BadInput, "images, cells, dimensions"):
            diml.similarity(good[0], good)
        with self.assertRaisesRegex(ValueError, "one model"):
            diml.similarity(good, good[..., :5])
        with self.assertRaisesRegex(ValueError, "pair 1 is"):
            diml.similarity(good, good, [(0, 1), (0, 3)])
        with self.assertRaisesRegex(TypeError, "numbers are wanted"):
            diml.similarity(np.array([[["a"]]]), good)
        with self.assertRaisesRegex(ValueError, "marginal"):
            diml.match(good[0], good[1], marginals="none")
        with self.assertRaises(TypeError):
            diml.similarity(good, good, [(0.5, 1.0)])

    def test_kinds_of_errors_are_exceptions_of_python(self):
        from diml._errors import of_kind
        for kind, base in (("bad_input", ValueError), ("not_found", KeyError), ("out_of_resources", MemoryError),
                           ("unsupported", NotImplementedError), ("damaged", diml.DamagedData),
                           ("conflict", RuntimeError), ("internal", RuntimeError)):
            error = of_kind(kind, "one line", "resume")
            self.assertIsInstance(error, base)
            self.assertEqual((str(error), error.parameter), ("one line", "resume"))


class Calls(unittest.TestCase):
    def test_match_adds_up_on_unequal_grids(self):
        m = diml.match(RNG.normal(size=(3, 5, 16)), RNG.normal(size=(2, 4, 16)))
        self.assertEqual(m.plan.shape, (15, 8))
        self.assertAlmostEqual((m.plan * m.similarity).sum(), m.score, places=9)
        self.assertTrue(np.allclose(m.plan.sum(1), m.marginals[0], atol=2e-4))
        self.assertTrue(np.allclose(m.plan.sum(0), m.marginals[1], atol=2e-4))
        self.assertGreaterEqual(m.gap, 0.0)

    def test_explain_writes_and_returns_the_figure(self):
        m = diml.match(RNG.normal(size=(3, 5, 16)), RNG.normal(size=(2, 4, 16)))
        if not diml.features()["drawing"]:
            self.skipTest("this build draws no figures")
        with tempfile.TemporaryDirectory() as folder:
            for ending, begins in (("html", b"<!"), ("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
                path = os.path.join(folder, "why." + ending)
                figure = m.explain(path)
                with open(path, "rb") as file:
                    written = file.read()
                self.assertTrue(written.lower().startswith(begins.lower()), (ending, written[:20]))
                self.assertEqual(written, figure if isinstance(figure, bytes) else figure.encode())
        self.assertTrue(m._repr_html_().startswith("<svg"))
        self.expect_no_shared_names(m._repr_html_(), diml.match(np.eye(6), np.eye(6))._repr_html_())
        with self.assertRaisesRegex(ValueError, "explain writes"):
            m.explain("why.doc")

    def expect_no_shared_names(self, *figures):
        """Figures on one page: a name is one figure's, and every reference finds its name."""
        named = [set(re.findall(r'\bid="([^"]+)"', figure)) for figure in figures]
        self.assertTrue(all(named))
        self.assertEqual(named[0] & named[1], set())
        for figure, names in zip(figures, named):
            asked = set(re.findall(r'href="#([^"]+)"', figure)) | set(re.findall(r"url\(#([^)]+)\)", figure))
            self.assertTrue(asked)
            self.assertEqual(asked - names, set())

    def test_lists_of_unequal_grids_agree_with_pairs_alone(self):
        A = [RNG.normal(size=(r, 16)) for r in (3, 7, 3, 5)]
        B = [RNG.normal(size=(r, 16)) for r in (4, 2, 6)]
        S = diml.similarity(A, B)
        for i, a in enumerate(A):
            for j, b in enumerate(B):
                self.assertEqual(S[i, j], diml.similarity(a[None], b[None])[0, 0])
        listed = diml.similarity(A, B, [(3, 2), (0, 1), (1, 0)])
        self.assertEqual(listed.tolist(), [S[3, 2], S[0, 1], S[1, 0]])

    def test_maxsim_is_the_mean_of_the_largest_cosines(self):
        a, b = unit(RNG.normal(size=(5, 16))), unit(RNG.normal(size=(3, 16)))
        self.assertAlmostEqual(diml.similarity([a], [b], score="maxsim")[0, 0], (a @ b.T).max(1).mean(), places=6)

    def test_search_orders_as_rerank_does(self):
        G = RNG.normal(size=(40, 6, 16))
        Q = RNG.normal(size=(3, 4, 16))
        scores, ids = diml.Retriever(G).search(Q, k=7, rerank=12)
        first = diml.Retriever(G).search(Q, k=12, rerank=0)[1]
        again = diml.rerank(Q, G, first, k=7)
        self.assertTrue((ids == again[1]).all() and (scores == again[0]).all())
        self.assertTrue((np.diff(scores, axis=1) <= 0).all())
        few = diml.rerank(Q[0], G, [5, -1, 9], k=4)
        self.assertEqual(few[1][2:].tolist(), [-1, -1])
        self.assertEqual(sorted(few[1][:2].tolist()), [5, 9])

    def test_progress_counts_and_its_exception_ends_the_call(self):
        A = RNG.normal(size=(30, 8, 16))
        seen = []
        diml.similarity(A, A, progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[-1], (900, 900))
        with self.assertRaises(ZeroDivisionError):
            diml.similarity(A, A, progress=lambda done, total: 1 / 0)

    def test_a_bar_is_drawn_with_tqdm_and_without(self):
        A = RNG.normal(size=(30, 8, 16))
        for name in ("tqdm", "none"):
            with mock.patch.dict(sys.modules, {} if name == "tqdm" else {"tqdm": None, "tqdm.auto": None}):
                screen = io.StringIO()
                screen.isatty = lambda: True
                with mock.patch.object(sys, "stderr", screen):
                    diml.similarity(A, A, progress=True)
                self.assertIn("similarity: 100", screen.getvalue())
                self.assertIn("900", screen.getvalue())
        quiet = io.StringIO()
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}), mock.patch.object(sys, "stderr", quiet):
            diml.similarity(A, A, progress=True)
        self.assertEqual(quiet.getvalue(), "")
        with self.assertRaisesRegex(TypeError, "progress is True"):
            diml.similarity(A, A, progress="yes")

    def test_an_evaluation_is_a_plain_dict_of_columns(self):
        r = diml.evaluate(RNG.normal(size=(12, 4, 8)), None, np.repeat(np.arange(3), 4), rerank=(0, 5, "all"))
        self.assertIsInstance(r, dict)
        self.assertEqual({len(column) for column in r.values()}, {3})  # what pandas.DataFrame takes
        self.assertTrue(all(type(value) in (int, float) for column in r.values() for value in column))
        self.assertEqual(json.loads(json.dumps(r)), r)

    def test_ctrl_c_ends_a_long_call_while_other_threads_run(self):
        A = RNG.normal(size=(1500, 49, 64)).astype(np.float32)
        ticks = []

        def press():
            for _ in range(10):  # runs only where the call has released the GIL
                ticks.append(1)
                done.wait(0.02)
            os.kill(os.getpid(), signal.SIGINT)

        # A program that a shell starts in the background ignores Ctrl-C.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        done = threading.Event()
        thread = threading.Thread(target=press)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            diml.similarity(A, A)
            self.fail("the call ended before Ctrl-C")
        thread.join()
        self.assertEqual(len(ticks), 10)

    def test_threads_change_no_bit(self):
        A = RNG.normal(size=(20, 9, 16))
        diml.set_threads(1)
        one = diml.similarity(A, A)
        diml.set_threads(0)
        self.assertTrue((diml.similarity(A, A) == one).all())
        with self.assertRaises(ValueError):
            diml.set_threads(-1)

    def test_no_limit_is_that_of_the_environment(self):
        program = """
import os, sys
import numpy as np
import diml
A = np.random.default_rng(0).normal(size=(60, 9, 16)).astype(np.float32)
def started():
    before = len(os.listdir("/proc/self/task"))
    diml.similarity(A, A)
    return len(os.listdir("/proc/self/task")) - before
found = [started()]
diml.set_threads(3)
found.append(started())
print(*found)
"""
        for name in ("DIML_THREADS", "OMP_NUM_THREADS"):
            environment = {k: v for k, v in os.environ.items() if k not in ("DIML_THREADS", "OMP_NUM_THREADS")}
            done = subprocess.run([sys.executable, "-c", program], env={**environment, name: "1"}, capture_output=True,
                                  text=True, check=True)
            self.assertEqual(done.stdout.split(), ["0", "2"], name)


if __name__ == "__main__":
    unittest.main()
