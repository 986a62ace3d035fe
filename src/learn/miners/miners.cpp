#include "miners.h"

#include "../numbers.h"

namespace diml::learn {
namespace {

constexpr std::uint64_t kMining = 0x6d696e65;  // separates its random numbers from others

torch::Tensor pairs_tensor(const std::vector<std::int64_t>& flat) {
  return torch::tensor(flat, torch::kInt64).view({-1, 2});
}

}  // namespace

void MinedLists::take_positive(const Anchor& anchor, std::int64_t positive) {
  positives.insert(positives.end(), {anchor.index, positive});
}

void MinedLists::take_negative(const Anchor& anchor, std::int64_t negative) {
  negatives.insert(negatives.end(), {anchor.index, negative});
}

Mined AnchorMiner::operator()(const MinerInput& input) {
  const torch::Tensor distances = input.distances.to(torch::kCPU, torch::kFloat32).contiguous();
  const torch::Tensor labels = input.labels.to(torch::kCPU, torch::kInt64).contiguous();
  const auto* label = labels.data_ptr<std::int64_t>();
  const std::int64_t size = labels.numel();
  Random random(mixed_seed(input.seed, kMining, 0));
  MinedLists mined;
  for (std::int64_t index = 0; index < size; ++index) {
    Anchor anchor{.index = index, .distances = distances.data_ptr<float>() + index * size};
    for (std::int64_t other = 0; other < size; ++other) {
      if (label[other] != label[index]) {
        anchor.negatives.push_back(other);
      } else if (other != index) {
        anchor.positives.push_back(other);
      }
    }
    const bool lonely = anchor.positives.empty() || anchor.negatives.empty();
    if (!lonely || takes_lonely_anchors()) choose(anchor, input, random, mined);
  }
  return {pairs_tensor(mined.positives), pairs_tensor(mined.negatives)};
}

std::int64_t any_of(const std::vector<std::int64_t>& candidates, Random& random) {
  return candidates[random.below(candidates.size())];
}

torch::Tensor mask_of(const torch::Tensor& pairs, std::int64_t batch) {
  torch::Tensor mask = torch::zeros({batch, batch}, pairs.options().dtype(torch::kBool));
  mask.index_put_({pairs.select(1, 0), pairs.select(1, 1)},
                  torch::ones({}, pairs.options().dtype(torch::kBool)));
  return mask;
}

Triplets triplets_of(const Mined& mined, std::int64_t batch) {
  // For every positive pair the negatives of its anchor: [P, N].
  const torch::Tensor anchors = mined.positives.select(1, 0);
  const torch::Tensor found =
      mask_of(mined.negatives, batch).index_select(0, anchors).nonzero();  // [T, 2]
  const torch::Tensor pair = found.select(1, 0);
  return {anchors.index_select(0, pair), mined.positives.select(1, 1).index_select(0, pair),
          found.select(1, 1)};
}

const std::vector<MinerKind>& miner_kinds() {
  // Numbers: the method, section 6. An anchor without a positive or without a negative in the batch
  // is skipped, except by `all`. `multi_similarity` is the MS loss's own rule: it chooses among
  // pairs, so that other losses can use it as well.
  static const std::vector<MinerKind> kinds = {
      {"all", "every pair of the batch", {}, make_all_miner},
      {"distance",
       "negatives spread evenly over all distances: with probability 1 / q(d), Wu et al. 2017",
       {{"lower", 0.5}, {"upper", 2.0}},
       make_distance_miner},
      {"multi_similarity",
       "pairs that are not yet further apart than others by epsilon, Wang et al. 2019",
       {{"epsilon", 0.1}},
       make_multi_similarity_miner},
      {"npair", "one positive, one negative of every other class, Sohn 2016", {}, make_npair_miner},
      {"random", "one positive and one negative at random", {}, make_random_miner},
      {"semihard",
       "a negative farther than the positive, by less than the margin, Schroff et al. 2015",
       {{"margin", 0.2}},
       make_semihard_miner},
      {"softhard",
       "a positive farther than the nearest negative, a negative nearer than the farthest "
       "positive, Roth et al. 2020",
       {},
       make_softhard_miner},
  };
  return kinds;
}

std::unique_ptr<Miner> make_miner(std::string_view name, const Numbers& numbers) {
  const MinerKind& kind = kind_named(miner_kinds(), name, "miner");
  return kind.make(with_defaults(numbers, kind.defaults, "the miner " + std::string(name)));
}

}  // namespace diml::learn
