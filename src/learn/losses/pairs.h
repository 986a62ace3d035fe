#pragma once

#include "diml/learn/loss.h"

namespace diml::learn {

// Calls the miner; the indices are on the batch's device.
Mined mine(Miner& miner, const LossInput& input);
Triplets mine_triplets(Miner& miner, const LossInput& input);

// On the batch's device.
torch::Tensor labels_of(const LossInput& input);
// [N, N]: which other images have the anchor's class; no image is its own positive.
torch::Tensor same_class(const torch::Tensor& labels);
// [N, classes]: which class is the image's own.
torch::Tensor own_class(const torch::Tensor& labels, std::int64_t classes);

// matrix[row, column] of every pair. pairs: [P, 2].
torch::Tensor at(const torch::Tensor& matrix, const torch::Tensor& pairs);
torch::Tensor at(const torch::Tensor& matrix, const torch::Tensor& rows,
                 const torch::Tensor& columns);

// One number for every pair that was mined.
struct PairValues {
  torch::Tensor positives;  // [P]
  torch::Tensor negatives;  // [Q]
};
// [P + Q, 2]: all pairs, for one call; and its result, split into the two parts again.
torch::Tensor joined(const Mined& mined);
PairValues parted(const torch::Tensor& values, std::int64_t positives);
PairValues distances_of(const Mined& mined, const LossInput& input);
// Anchor and positive, anchor and negative of every triplet.
Mined pairs_of(const Triplets& triplets);

// Means that are 0, with a gradient of 0, where there are no values.
torch::Tensor mean_of(const torch::Tensor& values);
torch::Tensor mean_of_active(const torch::Tensor& values);  // over those above 0
torch::Tensor mean_where(const torch::Tensor& mask, const torch::Tensor& values);

// log sum exp over the dimension, of the entries in the mask. A huge negative number, with a
// gradient of 0, where there are none: remove it from the result.
torch::Tensor log_sum_exp(const torch::Tensor& logits, const torch::Tensor& mask, std::int64_t dim);
// log(1 + sum exp): 0 where the mask is empty.
torch::Tensor log_one_plus_sum_exp(const torch::Tensor& logits, const torch::Tensor& mask,
                                   std::int64_t dim);

// Losses on embeddings that are not normalised. The measure uses unit vectors; an inner product is
// |a||b| times the similarity. For the global measure that is the ordinary inner product, for the
// structural one its natural generalisation: lengths of the globals, directions of the cells.
torch::Tensor inner_products(const LossInput& input, const torch::Tensor& similarity);
// Likewise Euclidean distances, from |a|^2 + |b|^2 - 2 <a, b>.
torch::Tensor plain_distances(const LossInput& input, const torch::Tensor& similarity);

// The N-Pair term: mean over the positive pairs of log(1 + sum_n exp(<a, n> - <a, p>)).
torch::Tensor npair_term(const torch::Tensor& products, const Mined& mined);

// For every triplet an image of a third class, drawn at random: a second negative. `found` is false
// where the batch has no third class.
struct SecondNegatives {
  torch::Tensor images;  // [T]
  torch::Tensor found;   // [T]
};
SecondNegatives second_negatives(const Triplets& triplets, const torch::Tensor& labels,
                                 std::uint64_t seed);

}  // namespace diml::learn
