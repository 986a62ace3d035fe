"""diml.torch: values of the matcher, gradients, types, and that a pair does not depend on its batch."""

import copy
import doctest
import pickle
import re
import unittest
import warnings

import numpy as np

try:
    import torch
except ImportError as error:
    raise unittest.SkipTest("PyTorch is not there: install python3-torch") from error

import diml
import diml.torch
from diml import _tensors, _unrolled

torch.manual_seed(0)
torch.set_num_threads(1)  # small tensors: more threads would only wait for each other


def made(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def alike(count, cells, dim, seed, dtype=torch.float32):
    """Cells that are much alike: plans that are neither sharp nor flat."""
    return (made(1, 1, dim, seed=99) + made(count, cells, dim, seed=seed)).to(dtype)


class Values(unittest.TestCase):
    def setUp(self):
        self.a, self.b = alike(5, 15, 16, 1), alike(5, 8, 16, 2)
        self.globals = (alike(5, 1, 16, 3)[:, 0], alike(5, 1, 16, 4)[:, 0])
        self.sim = diml.torch.StructuralSimilarity()

    def wanted(self, pairs=None, **how):
        return diml.similarity(self.a.numpy(), self.b.numpy(), pairs,
                               globals=tuple(g.numpy() for g in self.globals), **how)

    def test_scores_are_those_of_similarity(self):
        every = self.sim(self.a, self.b, self.globals, pairs="all")
        self.assertEqual((every.dtype, tuple(every.shape)), (torch.float32, (5, 5)))
        np.testing.assert_allclose(every.numpy(), self.wanted(), atol=2e-6)
        aligned = self.sim(self.a, self.b, self.globals)
        self.assertTrue((aligned == every.diagonal()).all())
        pairs = torch.tensor([[4, 0], [1, 3], [1, 3]])
        self.assertTrue((self.sim(self.a, self.b, self.globals, pairs) == every[pairs[:, 0], pairs[:, 1]]).all())

    def test_rules_and_lambdas_reach_the_matcher(self):
        for how in ({"marginals": "uniform"}, {"lambda_": 0.2}, {"backend": "reference"}, {"tolerance": 1e-7}):
            found = diml.torch.StructuralSimilarity(**how)(self.a, self.b, self.globals, pairs="all")
            np.testing.assert_allclose(found.numpy(), self.wanted(**how), atol=2e-6)
        uniform = diml.torch.StructuralSimilarity(marginals="uniform")(self.a, self.b, self.globals)
        self.assertGreater((uniform - self.sim(self.a, self.b, self.globals)).abs().max(), 1e-3)

    def test_unrolled_plans_are_those_of_the_matcher(self):
        how = {"tolerance": 1e-6}
        for rule in _unrolled.RULES:
            for pairs in ("all", "aligned"):
                both = [diml.torch.StructuralSimilarity(plan, marginals=rule, **how) for plan in ("constant", "unrolled")]
                scores = [sim(self.a, self.b, self.globals, pairs) for sim in both]
                plans = [sim.plans(self.a, self.b, self.globals, pairs) for sim in both]
                self.assertEqual(plans[0].shape, plans[1].shape)
                torch.testing.assert_close(plans[0], plans[1], atol=1e-5, rtol=1e-3)
                torch.testing.assert_close(scores[0], scores[1], atol=1e-5, rtol=1e-5)

    def test_every_rule_of_the_library_has_unrolled_plans(self):
        with self.assertRaises(diml.Error) as refused:
            diml.torch.StructuralSimilarity(marginals="none")
        known = re.findall(r"\w+", str(refused.exception).split("'none'")[1])
        self.assertEqual(set(known) - {"or"}, set(_unrolled.RULES), refused.exception)

    def test_plans_have_the_marginals_and_make_the_score(self):
        mass = self.sim.plans(self.a, self.b, self.globals)
        m = diml.match(self.a[2].numpy(), self.b[2].numpy(), globals=tuple(g[2].numpy() for g in self.globals))
        np.testing.assert_allclose(mass[2].numpy(), m.plan, atol=3e-5)
        np.testing.assert_allclose(mass[2].sum(1), m.marginals[0], atol=2e-4)
        torch.testing.assert_close(self.sim(self.a, self.b, plans=mass), self.sim(self.a, self.b, self.globals),
                                   atol=2e-6, rtol=1e-5)

    def test_without_globals_the_mean_of_the_cells_is_the_global(self):
        means = (self.a.mean(1), self.b.mean(1))
        torch.testing.assert_close(self.sim(self.a, self.b), self.sim(self.a, self.b, means))

    def test_the_result_has_the_type_of_the_source(self):
        wanted = self.sim(self.a, self.b)
        for dtype, tolerance in ((torch.float16, 2e-3), (torch.bfloat16, 1e-2), (torch.float64, 1e-5)):
            found = self.sim(self.a.to(dtype), self.b.to(dtype))
            self.assertEqual(found.dtype, dtype)
            torch.testing.assert_close(found.float(), wanted, atol=tolerance, rtol=0)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertTrue((self.sim(self.a, self.b) == wanted).all())

    def test_cells_of_any_scale_have_the_same_scores_and_gradients(self):
        for plan in ("constant", "unrolled"):
            sim = diml.torch.StructuralSimilarity(plan)
            found = []
            for scale in (1.0, 2.0**-120, 2.0**100, 2.0**-140):
                a = (self.a * scale).requires_grad_()
                scores = sim(a, self.b * scale, tuple(g * scale for g in self.globals))
                scores.sum().backward()
                found.append((scores.detach(), a.grad * scale))
                torch.testing.assert_close(sim(a, self.b * scale), sim(self.a, self.b), atol=1e-3, rtol=1e-3)
            for scores, gradient in found[1:3]:
                torch.testing.assert_close(scores, found[0][0], atol=2e-6, rtol=0)
                torch.testing.assert_close(gradient, found[0][1], atol=2e-6, rtol=1e-3)
            # The smallest numbers have few digits.
            torch.testing.assert_close(found[3][0], found[0][0], atol=1e-3, rtol=0)
        zero = torch.zeros_like(self.a).requires_grad_()
        self.sim(zero, self.b).sum().backward()
        self.assertTrue(bool(torch.isfinite(zero.grad).all()))

    def test_strided_cells_and_a_pickled_copy_give_the_same(self):
        wanted = self.sim(self.a, self.b)
        strided = self.a.transpose(1, 2).contiguous().transpose(1, 2)
        torch.testing.assert_close(self.sim(strided, self.b), wanted)
        for same in (copy.deepcopy(self.sim), pickle.loads(pickle.dumps(self.sim))):
            self.assertTrue((same(self.a, self.b) == wanted).all())

    def test_the_matcher_reads_the_tensor_where_it_lies(self):
        cells = _tensors.unit(self.a)
        self.assertEqual(_tensors.unit(cells).data_ptr(), cells.data_ptr())
        grids = _tensors.grids(cells, _tensors.unit(self.globals[0]))
        self.assertEqual(grids.cells.data_ptr(), cells.data_ptr())
        for dtype in (torch.float16, torch.bfloat16):
            halves = _tensors.unit(self.a.to(dtype))
            self.assertEqual((halves.dtype, _tensors.unit(halves).data_ptr()), (dtype, halves.data_ptr()))

    def test_bad_input_says_what_is_wanted(self):
        for wrong, words in ((lambda: self.sim(self.a[0], self.b), "images, cells, dimensions"),
                             (lambda: self.sim(self.a[..., None], self.b), r"flatten\(2\).transpose\(1, 2\)"),
                             (lambda: self.sim(self.a, self.b[:3]), "pairs='all'"),
                             (lambda: self.sim(self.a, self.b[..., :7]), "one number of dimensions"),
                             (lambda: self.sim(self.a, self.b, (self.globals[0][:2], None)), "to go with source"),
                             (lambda: self.sim(self.a, self.b, pairs=torch.tensor([[0, 1], [2, 5]])), "pair 1 is"),
                             (lambda: self.sim(self.a, self.b, pairs="some"), "aligned, all"),
                             (lambda: self.sim(self.a[:0], self.b[:0]), "at least one"),
                             (lambda: diml.torch.StructuralSimilarity("fixed"), "constant or unrolled"),
                             (lambda: diml.torch.StructuralSimilarity(lambda_=0.0), "lambda"),
                             (lambda: diml.torch.StructuralSimilarity(marginals="none"), "marginal")):
            with self.assertRaisesRegex(ValueError, words):
                wrong()
        nowhere = torch.empty(5, 15, 16, device="meta")
        for call in (lambda: self.sim(nowhere, nowhere), lambda: diml.similarity(nowhere, nowhere)):
            with self.assertRaisesRegex(NotImplementedError, "is on meta: tensors are matched on the CPU"):
                call()
        with self.assertRaisesRegex(TypeError, "floating-point"):
            self.sim((9 * self.a).long(), self.b)

    def test_cells_that_may_be_turned_are_said(self):
        turned = self.a.transpose(1, 2)
        with self.assertWarnsRegex(UserWarning, "globals say that it is not"):
            self.sim(turned, turned)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.sim(turned, turned, (turned.mean(1), turned.mean(1)))
            self.sim(self.a, self.b)

    def test_nan_is_an_error_of_the_matcher_and_goes_through_unrolled_plans(self):
        broken = self.a.clone()
        broken[1, 3, 2] = float("nan")
        with self.assertRaisesRegex(ValueError, "NaN"):
            diml.torch.StructuralSimilarity(backend="reference")(broken, self.b)
        found = diml.torch.StructuralSimilarity("unrolled")(broken, self.b)
        self.assertEqual(torch.isnan(found).tolist(), [False, True, False, False, False])


class Gradients(unittest.TestCase):
    def setUp(self):
        self.a, self.b = alike(3, 6, 5, 1, torch.float64), alike(3, 4, 5, 2, torch.float64)
        self.globals = (alike(3, 1, 5, 3, torch.float64)[:, 0], alike(3, 1, 5, 4, torch.float64)[:, 0])
        for tensor in (self.a, self.b, *self.globals):
            tensor.requires_grad_()

    def test_of_constant_plans_pass_gradcheck_with_the_plan_held(self):
        sim = diml.torch.StructuralSimilarity()
        for pairs in ("aligned", "all", torch.tensor([[0, 2], [1, 1], [1, 0], [2, 2]])):
            mass = sim.plans(self.a, self.b, self.globals, pairs)
            self.assertTrue(torch.autograd.gradcheck(lambda a, b: sim(a, b, pairs=pairs, plans=mass), (self.a, self.b)))
            self.assertTrue(torch.autograd.gradgradcheck(lambda a, b: sim(a, b, pairs=pairs, plans=mass),
                                                         (self.a, self.b)))

    def test_of_constant_plans_in_float32_are_those_with_the_plan_held(self):
        sim = diml.torch.StructuralSimilarity()
        a, b = (t.detach().float().requires_grad_() for t in (self.a, self.b))
        for pairs in ("aligned", "all", torch.tensor([[0, 2], [1, 1], [1, 0], [2, 2]])):
            mass = sim.plans(a, b, pairs=pairs)
            found, held = sim(a, b, pairs=pairs), sim(a, b, pairs=pairs, plans=mass)
            upstream = made(*found.shape, seed=5)
            for x, y in zip(torch.autograd.grad(found, (a, b), upstream), torch.autograd.grad(held, (a, b), upstream)):
                torch.testing.assert_close(x, y, atol=1e-6, rtol=1e-4)

    def test_of_unrolled_plans_pass_gradcheck(self):
        # A number of iterations that a small step cannot change.
        for rule in ("cross_correlation", "uniform"):
            sim = diml.torch.StructuralSimilarity("unrolled", lambda_=0.2, marginals=rule, tolerance=1e-300,
                                                  max_iterations=7)
            for pairs in ("aligned", "all"):
                inputs = (self.a, self.b) + (self.globals if rule == "cross_correlation" else ())
                self.assertTrue(torch.autograd.gradcheck(
                    lambda a, b, *g: sim(a, b, g or (None, None), pairs), inputs))

    def test_of_unrolled_plans_are_those_of_plain_autograd(self):
        similarity = torch.rand(4, 3, 5, dtype=torch.float64).requires_grad_()
        rows = torch.softmax(made(4, 3, dtype=torch.float64), 1).requires_grad_()
        columns = torch.softmax(made(4, 5, dtype=torch.float64), 1).requires_grad_()
        inputs = (similarity, rows, columns)
        kernel = torch.exp((similarity - 1) / 0.1)
        b = torch.ones_like(columns)
        for _ in range(9):
            a = rows / (kernel @ b.unsqueeze(-1)).squeeze(-1)
            b = columns / (kernel.transpose(1, 2) @ a.unsqueeze(-1)).squeeze(-1)
        plain = a.unsqueeze(-1) * kernel * b.unsqueeze(-2)
        found = _unrolled.sinkhorn(*inputs, 0.1, 1e-300, 9)
        torch.testing.assert_close(found, plain)
        upstream = made(4, 3, 5, dtype=torch.float64)
        for x, y in zip(torch.autograd.grad(found, inputs, upstream), torch.autograd.grad(plain, inputs, upstream)):
            torch.testing.assert_close(x, y)

    def test_unrolled_gradients_contain_what_constant_ones_leave_out(self):
        constant, unrolled = (torch.autograd.grad(
            diml.torch.StructuralSimilarity(plan, lambda_=0.2)(self.a, self.b, self.globals).sum(),
            (self.a, self.globals[0]), allow_unused=True) for plan in ("constant", "unrolled"))
        self.assertIsNone(constant[1])
        self.assertGreater(unrolled[1].abs().max(), 1e-4)
        self.assertGreater((constant[0] - unrolled[0]).abs().max(), 1e-4)

    def test_a_pair_does_not_depend_on_its_batch(self):
        # Pairs that need very different numbers of iterations.
        a = torch.cat([alike(4, 9, 8, 1), made(4, 9, 8, seed=2)])
        b = torch.cat([alike(4, 4, 8, 3), made(4, 4, 8, seed=4)])
        for plan in ("constant", "unrolled"):
            sim = diml.torch.StructuralSimilarity(plan)
            for k in range(8):
                whole, alone = [], []
                for x, y, out in ((a, b, whole), (a[k:k + 1], b[k:k + 1], alone)):
                    x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
                    scores = sim(x, y)
                    scores.sum().backward()
                    out += [scores, x.grad, y.grad]
                for of_batch, own in zip(whole, alone):
                    of_pair = of_batch[k:k + 1]
                    if plan == "constant":
                        self.assertTrue((of_pair == own).all() or torch.allclose(of_pair, own, atol=1e-7))
                    torch.testing.assert_close(of_pair, own, atol=2e-6, rtol=1e-4)

    def test_halves_get_gradients_of_their_type(self):
        for dtype in (torch.float16, torch.bfloat16):
            a, b = (t.detach().to(dtype).requires_grad_() for t in (self.a, self.b))
            diml.torch.StructuralSimilarity()(a, b, pairs="all").float().sum().backward()
            self.assertEqual((a.grad.dtype, b.grad.dtype), (dtype, dtype))
            self.assertTrue(bool(torch.isfinite(a.grad).all()) and a.grad.abs().max() > 0)


class Examples(unittest.TestCase):
    def test_the_examples_in_docstrings_run(self):
        result = doctest.testmod(diml.torch)
        self.assertGreater(result.attempted, 0)
        self.assertEqual(result.failed, 0)


if __name__ == "__main__":
    unittest.main()
