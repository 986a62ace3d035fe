#include "unrolled.h"

#include "diml/error.h"

namespace diml::learn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Input and output of an iteration, for the pairs that had not stopped before.
struct Iteration {
  torch::Tensor pairs;  // [n] int64, their places in the batch
  torch::Tensor log_b;  // [n, R_y], of the iteration before
  torch::Tensor log_a;  // [n, R_x]
};

torch::Tensor over_columns(const torch::Tensor& kernel, const torch::Tensor& log_b) {
  return kernel + log_b.unsqueeze(-2);
}

torch::Tensor over_rows(const torch::Tensor& kernel, const torch::Tensor& log_a) {
  return kernel + log_a.unsqueeze(-1);
}

// Not torch::softmax: for some types and versions of LibTorch its last bits depend on the size of
// the batch. These steps handle each number, or each pair, separately.
torch::Tensor shares_along(const torch::Tensor& logits, std::int64_t dim) {
  return (logits - torch::logsumexp(logits, dim, /*keepdim=*/true)).exp_();
}

// history: null where no gradient is needed.
torch::Tensor solve(const torch::Tensor& all, torch::Tensor log_source, torch::Tensor log_target,
                    const TransportParams& params, std::vector<Iteration>* history) {
  torch::Tensor final_a = torch::empty_like(log_source);
  torch::Tensor final_b = torch::empty_like(log_target);
  torch::Tensor kernel = all;
  torch::Tensor pairs = torch::arange(all.size(0), all.options().dtype(torch::kInt64));
  torch::Tensor log_b = torch::zeros_like(log_target);
  torch::Tensor row_sums = torch::logsumexp(over_columns(kernel, log_b), -1);
  for (int iteration = 1; pairs.size(0) > 0; ++iteration) {
    const torch::Tensor log_a = log_source - row_sums;
    if (history != nullptr) history->push_back({pairs, log_b, log_a});
    log_b = log_target - torch::logsumexp(over_rows(kernel, log_a), -2);
    row_sums = torch::logsumexp(over_columns(kernel, log_b), -1);
    const torch::Tensor error =
        ((log_a + row_sums).exp() - log_source.exp()).abs().sum(-1);  // of each pair
    const torch::Tensor goes_on = iteration < params.max_iterations
                                      ? error >= params.tolerance
                                      : torch::zeros_like(error, torch::kBool);
    const torch::Tensor staying = goes_on.nonzero().squeeze(1);
    if (staying.size(0) == pairs.size(0)) continue;
    const torch::Tensor ended = goes_on.logical_not().nonzero().squeeze(1);
    const torch::Tensor places = pairs.index_select(0, ended);
    final_a.index_copy_(0, places, log_a.index_select(0, ended));
    final_b.index_copy_(0, places, log_b.index_select(0, ended));
    for (torch::Tensor* of_pairs : {&pairs, &kernel, &log_source, &log_target, &log_b, &row_sums}) {
      *of_pairs = of_pairs->index_select(0, staying);
    }
  }
  return over_columns(over_rows(all, final_a), final_b).exp_();
}

// Plain autograd would keep two matrices of every iteration; two vectors suffice to restore them.
class UnrolledSinkhorn : public torch::autograd::Function<UnrolledSinkhorn> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& kernel,
                               const torch::Tensor& log_source, const torch::Tensor& log_target,
                               double tolerance, std::int64_t max_iterations) {
    std::vector<Iteration> history;
    TransportParams params;
    params.tolerance = tolerance;
    params.max_iterations = static_cast<int>(max_iterations);
    torch::Tensor plans = solve(kernel, log_source, log_target, params, &history);
    variable_list kept = {kernel, plans};
    for (const Iteration& iteration : history) {
      kept.insert(kept.end(), {iteration.pairs, iteration.log_b, iteration.log_a});
    }
    context->save_for_backward(std::move(kept));
    return plans;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (torch::GradMode::is_enabled()) {
      throw Error(ErrorKind::unsupported, "plan_gradient unrolled has only a first derivative");
    }
    const variable_list kept = context->get_saved_variables();
    const torch::Tensor& all = kept[0];
    torch::Tensor of_kernel = gradients[0] * kept[1];
    torch::Tensor of_a = of_kernel.sum(-1);  // of the last iteration of each pair
    torch::Tensor of_b = of_kernel.sum(-2);
    torch::Tensor of_source = torch::zeros_like(of_a);
    torch::Tensor of_target = torch::zeros_like(of_b);
    for (std::size_t end = kept.size(); end > 2; end -= 3) {
      const torch::Tensor& pairs = kept[end - 3];
      const torch::Tensor& log_b = kept[end - 2];
      const torch::Tensor& log_a = kept[end - 1];
      const torch::Tensor kernel = pairs.size(0) == all.size(0) ? all : all.index_select(0, pairs);
      // log_b' = log_target - logsumexp over the rows of (kernel + log_a).
      const torch::Tensor gradient_b = of_b.index_select(0, pairs);
      torch::Tensor through =
          shares_along(over_rows(kernel, log_a), -2).mul_(gradient_b.unsqueeze(-2));
      of_target.index_add_(0, pairs, gradient_b);
      of_kernel.index_add_(0, pairs, through, -1);
      // log_a = log_source - logsumexp over the columns of (kernel + log_b).
      const torch::Tensor gradient_a = of_a.index_select(0, pairs) - through.sum(-1);
      through = shares_along(over_columns(kernel, log_b), -1).mul_(gradient_a.unsqueeze(-1));
      of_source.index_add_(0, pairs, gradient_a);
      of_kernel.index_add_(0, pairs, through, -1);
      // An earlier iteration passes on only its log_b.
      of_b.index_copy_(0, pairs, through.sum(-2).neg_());
      of_a.index_fill_(0, pairs, 0.0);
    }
    return {of_kernel, of_source, of_target, {}, {}};
  }
};

}  // namespace

torch::Tensor unrolled_sinkhorn(const torch::Tensor& kernel, const torch::Tensor& log_source,
                                const torch::Tensor& log_target, const TransportParams& params) {
  const bool goes_back =
      torch::GradMode::is_enabled() &&
      (kernel.requires_grad() || log_source.requires_grad() || log_target.requires_grad());
  if (!goes_back) return solve(kernel, log_source, log_target, params, nullptr);
  return UnrolledSinkhorn::apply(kernel, log_source, log_target, params.tolerance,
                                 static_cast<std::int64_t>(params.max_iterations));
}

double unrolled_bytes(std::int64_t pairs, std::int64_t rows, std::int64_t columns, int iterations,
                      std::size_t bytes_of_number) {
  // Above the values measured on the CPU for similarities and distances: kernel, plans, products,
  // gradients and the backward pass of one iteration are 20 matrices; between the vectors that are
  // kept of every iteration the allocator leaves gaps as large as the vectors.
  constexpr double kMatrices = 20.0;
  constexpr double kWithGaps = 2.0;
  const auto number = static_cast<double>(bytes_of_number);
  const double of_iteration =
      static_cast<double>(rows + columns) * number + sizeof(std::int64_t);  // and the pair's place
  const double of_matrix = static_cast<double>(rows) * static_cast<double>(columns) * number;
  return static_cast<double>(pairs) *
         (kWithGaps * iterations * of_iteration + kMatrices * of_matrix);
}

}  // namespace diml::learn
