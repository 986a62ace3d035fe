#include "pairs.h"

#include "base/random.h"

namespace diml::learn {
namespace {

// Value of masked entries: too small to count in a sum of exponentials, yet finite, for gradients.
constexpr double kNothing = -1e30;
constexpr std::uint64_t kSecondNegatives = 0x71756164;
constexpr double kNoSquaredDistance = 1e-10;

torch::Tensor uniforms(std::int64_t count, std::uint64_t seed) {
  Random random(mixed_seed(seed, kSecondNegatives, 0));
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = random.uniform();
  return torch::tensor(values, torch::kFloat64);
}

}  // namespace

Mined mine(Miner& miner, const LossInput& input) {
  const torch::NoGradGuard no_gradient;
  const torch::Tensor globals = input.batch.globals.detach().to(torch::kFloat32);
  const torch::Tensor distances =
      (2.0 - 2.0 * torch::matmul(globals, globals.t())).clamp_min(0.0).sqrt();
  const Mined mined = miner({.distances = distances.to(torch::kCPU),
                             .labels = input.labels.to(torch::kCPU),
                             .dim = input.batch.dim(),
                             .seed = input.seed});
  return {mined.positives.to(globals.device()), mined.negatives.to(globals.device())};
}

Triplets mine_triplets(Miner& miner, const LossInput& input) {
  return triplets_of(mine(miner, input), input.batch.size());
}

torch::Tensor labels_of(const LossInput& input) {
  return input.labels.to(input.batch.globals.device());
}

torch::Tensor same_class(const torch::Tensor& labels) {
  const torch::Tensor equal = labels.unsqueeze(1) == labels.unsqueeze(0);
  return equal & ~torch::eye(labels.size(0), equal.options());
}

torch::Tensor own_class(const torch::Tensor& labels, std::int64_t classes) {
  return labels.unsqueeze(1) == torch::arange(classes, labels.options()).unsqueeze(0);
}

torch::Tensor at(const torch::Tensor& matrix, const torch::Tensor& pairs) {
  return at(matrix, pairs.select(1, 0), pairs.select(1, 1));
}

torch::Tensor at(const torch::Tensor& matrix, const torch::Tensor& rows,
                 const torch::Tensor& columns) {
  return matrix.index({rows, columns});
}

torch::Tensor joined(const Mined& mined) { return torch::cat({mined.positives, mined.negatives}); }

PairValues parted(const torch::Tensor& values, std::int64_t positives) {
  return {values.narrow(0, 0, positives), values.narrow(0, positives, values.size(0) - positives)};
}

PairValues distances_of(const Mined& mined, const LossInput& input) {
  return parted(input.measure.distance(input.batch, input.batch, joined(mined)),
                mined.positives.size(0));
}

Mined pairs_of(const Triplets& triplets) {
  return {torch::stack({triplets.anchors, triplets.positives}, 1),
          torch::stack({triplets.anchors, triplets.negatives}, 1)};
}

torch::Tensor mean_of(const torch::Tensor& values) {
  return values.sum() / static_cast<double>(std::max<std::int64_t>(1, values.numel()));
}

torch::Tensor mean_of_active(const torch::Tensor& values) {
  return values.clamp_min(0.0).sum() / (values > 0.0).sum().clamp_min(1);
}

torch::Tensor mean_where(const torch::Tensor& mask, const torch::Tensor& values) {
  return torch::where(mask, values, torch::zeros_like(values)).sum() / mask.sum().clamp_min(1);
}

torch::Tensor log_sum_exp(const torch::Tensor& logits, const torch::Tensor& mask,
                          std::int64_t dim) {
  return torch::logsumexp(logits.masked_fill(~mask, kNothing), dim);
}

torch::Tensor log_one_plus_sum_exp(const torch::Tensor& logits, const torch::Tensor& mask,
                                   std::int64_t dim) {
  const torch::Tensor sum = log_sum_exp(logits, mask, dim);
  return torch::logaddexp(sum, torch::zeros_like(sum));
}

torch::Tensor inner_products(const LossInput& input, const torch::Tensor& similarity) {
  const torch::Tensor& norms = input.batch.norms;
  return norms.unsqueeze(1) * norms.unsqueeze(0) * similarity;
}

torch::Tensor plain_distances(const LossInput& input, const torch::Tensor& similarity) {
  const torch::Tensor squares = input.batch.norms * input.batch.norms;
  const torch::Tensor squared =
      squares.unsqueeze(1) + squares.unsqueeze(0) - 2.0 * inner_products(input, similarity);
  // The root of 0 has no finite gradient.
  return squared.clamp_min(kNoSquaredDistance).sqrt();
}

torch::Tensor npair_term(const torch::Tensor& products, const Mined& mined) {
  const torch::Tensor anchors = mined.positives.select(1, 0);
  // [P, N]: the anchor of every positive pair against its own negatives.
  const torch::Tensor negatives =
      mask_of(mined.negatives, products.size(0)).index_select(0, anchors);
  const torch::Tensor logits =
      products.index_select(0, anchors) - at(products, mined.positives).unsqueeze(1);
  return mean_of(log_one_plus_sum_exp(logits, negatives, 1));
}

SecondNegatives second_negatives(const Triplets& triplets, const torch::Tensor& labels,
                                 std::uint64_t seed) {
  const torch::Tensor first = labels.index_select(0, triplets.anchors).unsqueeze(1);
  const torch::Tensor second = labels.index_select(0, triplets.negatives).unsqueeze(1);
  const torch::Tensor each = labels.unsqueeze(0);
  const torch::Tensor third = (each != first) & (each != second);  // [T, N]
  const torch::Tensor count = third.sum(1);
  // The k-th of the suitable ones, k drawn evenly: where the running count first reaches k + 1.
  const torch::Tensor random = uniforms(count.size(0), seed).to(count.device());
  const torch::Tensor rank = (random * count).floor().to(torch::kInt64);
  const torch::Tensor reached = third.cumsum(1) == (rank + 1).unsqueeze(1);
  return {(reached & third).to(torch::kInt64).argmax(1), count > 0};
}

}  // namespace diml::learn
