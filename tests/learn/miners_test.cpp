#include "diml/learn/miner.h"

#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "as_tensors.h"
#include "base/random.h"
#include "diml/error.h"
#include "losses/pairs.h"

namespace diml::learn::test {
namespace {

using IndexPair = std::pair<std::int64_t, std::int64_t>;

std::vector<IndexPair> list_of(const torch::Tensor& pairs) {
  EXPECT_EQ(pairs.scalar_type(), torch::kInt64);
  EXPECT_EQ(pairs.size(1), 2);
  std::vector<IndexPair> result;
  for (std::int64_t k = 0; k < pairs.size(0); ++k) {
    result.emplace_back(pairs[k][0].item<std::int64_t>(), pairs[k][1].item<std::int64_t>());
  }
  return result;
}

// A batch in plain numbers: near classes of three images, and one of a single image.
struct PlainBatch {
  std::vector<std::int64_t> labels = {0, 1, 2, 0, 1, 2, 0, 1, 2, 3};
  std::vector<std::vector<float>> distances;

  explicit PlainBatch(std::uint64_t seed) {
    Random random(seed);
    std::vector<std::vector<double>> points;
    for (const std::int64_t label : labels) {
      std::vector<double> point;
      double squares = 0.0;
      for (std::int64_t d = 0; d < 4; ++d) {
        point.push_back((d == label ? 0.7 : 0.0) + 0.5 * random.normal());
        squares += point.back() * point.back();
      }
      for (double& value : point) value /= std::sqrt(squares);
      points.push_back(point);
    }
    for (const auto& x : points) {
      distances.emplace_back();
      for (const auto& y : points) {
        distances.back().push_back(static_cast<float>(local(Local::distance, x, y)));
      }
    }
  }

  std::int64_t size() const { return signed_of(labels.size()); }
  float distance(std::int64_t a, std::int64_t b) const {
    return distances[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
  }
  bool same(std::int64_t a, std::int64_t b) const {
    return labels[static_cast<std::size_t>(a)] == labels[static_cast<std::size_t>(b)];
  }
  std::vector<std::int64_t> partners(std::int64_t anchor, bool positive) const {
    std::vector<std::int64_t> result;
    for (std::int64_t k = 0; k < size(); ++k) {
      if (k != anchor && same(anchor, k) == positive) result.push_back(k);
    }
    return result;
  }
  MinerInput input(std::uint64_t seed) const {
    torch::Tensor matrix = torch::empty({size(), size()});
    for (std::int64_t a = 0; a < size(); ++a) {
      for (std::int64_t b = 0; b < size(); ++b) matrix[a][b] = distance(a, b);
    }
    return {.distances = matrix, .labels = torch::tensor(labels), .dim = 4, .seed = seed};
  }
};

// Every anchor with a positive occurs once, with a valid positive and a valid negative.
void expect_one_each(const PlainBatch& batch, const Mined& mined) {
  const std::vector<IndexPair> positives = list_of(mined.positives);
  const std::vector<IndexPair> negatives = list_of(mined.negatives);
  ASSERT_EQ(positives.size(), 9u);  // the tenth image is alone in its class
  ASSERT_EQ(negatives.size(), 9u);
  for (std::size_t k = 0; k < positives.size(); ++k) {
    EXPECT_EQ(positives[k].first, signed_of(k));
    EXPECT_EQ(negatives[k].first, signed_of(k));
    EXPECT_NE(positives[k].first, positives[k].second);
    EXPECT_TRUE(batch.same(positives[k].first, positives[k].second));
    EXPECT_FALSE(batch.same(negatives[k].first, negatives[k].second));
  }
}

// The rule holds for the chosen one, or for none of the possible ones.
template <typename Rule>
void expect_rule(const std::vector<std::int64_t>& candidates, std::int64_t chosen, Rule rule,
                 int& held) {
  if (rule(chosen)) {
    ++held;
    return;
  }
  for (const std::int64_t candidate : candidates) EXPECT_FALSE(rule(candidate));
}

TEST(Miners, SemihardNegativesAreFartherThanThePositiveByLessThanTheMargin) {
  const std::unique_ptr<Miner> miner = make_miner("semihard");
  int held = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const PlainBatch batch(seed);
    const Mined mined = (*miner)(batch.input(seed));
    expect_one_each(batch, mined);
    const std::vector<IndexPair> positives = list_of(mined.positives);
    for (const auto& [a, n] : list_of(mined.negatives)) {
      const std::int64_t anchor = a;
      const float near = batch.distance(anchor, positives[static_cast<std::size_t>(a)].second);
      expect_rule(
          batch.partners(anchor, false), n,
          [&](std::int64_t k) {
            return batch.distance(anchor, k) > near && batch.distance(anchor, k) < near + 0.2f;
          },
          held);
    }
  }
  EXPECT_GT(held, 30);
  EXPECT_LT(held, 180);  // sometimes none satisfies the rule
}

TEST(Miners, SofthardPairsOverlapWithTheOtherSide) {
  const std::unique_ptr<Miner> miner = make_miner("softhard");
  int held = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const PlainBatch batch(seed);
    const Mined mined = (*miner)(batch.input(seed));
    expect_one_each(batch, mined);
    for (const bool positive : {true, false}) {
      for (const auto& [a, chosen] : list_of(positive ? mined.positives : mined.negatives)) {
        const std::int64_t anchor = a;
        const std::vector<std::int64_t> others = batch.partners(anchor, !positive);
        // Farther than some negative; nearer than some positive.
        const auto rule = [&](std::int64_t k) {
          return std::any_of(others.begin(), others.end(), [&](std::int64_t other) {
            return positive ? batch.distance(anchor, k) > batch.distance(anchor, other)
                            : batch.distance(anchor, k) < batch.distance(anchor, other);
          });
        };
        expect_rule(batch.partners(anchor, positive), chosen, rule, held);
      }
    }
  }
  EXPECT_GT(held, 30);
  EXPECT_LT(held, 360);
}

TEST(Miners, RandomTakesEveryPartnerInItsTurn) {
  const PlainBatch batch(1);
  const std::unique_ptr<Miner> miner = make_miner("random");
  std::set<std::int64_t> positives;
  std::set<std::int64_t> negatives;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Mined mined = (*miner)(batch.input(seed));
    expect_one_each(batch, mined);
    positives.insert(list_of(mined.positives)[0].second);
    negatives.insert(list_of(mined.negatives)[0].second);
  }
  EXPECT_EQ(positives.size(), batch.partners(0, true).size());
  EXPECT_EQ(negatives.size(), batch.partners(0, false).size());
}

// How often the distance rule draws each negative of anchor 0, in 20,000 draws.
std::map<std::int64_t, double> frequencies(const std::vector<double>& distances,
                                           const Numbers& numbers = {}) {
  constexpr int kDraws = 20000;
  // Anchor and positive, and negatives of their own classes at the given distances.
  const std::int64_t size = 2 + signed_of(distances.size());
  torch::Tensor matrix = torch::full({size, size}, 1.0);
  std::vector<std::int64_t> labels = {0, 0};
  for (std::int64_t k = 2; k < size; ++k) {
    matrix[0][k] = distances[static_cast<std::size_t>(k - 2)];
    labels.push_back(k);
  }
  const std::unique_ptr<Miner> miner = make_miner("distance", numbers);
  MinerInput input{.distances = matrix, .labels = torch::tensor(labels), .dim = 8};
  std::map<std::int64_t, double> result;
  for (int draw = 0; draw < kDraws; ++draw) {
    input.seed = static_cast<std::uint64_t>(draw);
    result[(*miner)(input).negatives[0][1].item<std::int64_t>() - 2] += 1.0 / kDraws;
  }
  return result;
}

TEST(Miners, TheDistanceRuleDrawsAsOneOverTheDensity) {
  const std::vector<double> distances = {0.3, 0.5, 0.6, 0.8, 1.0, 1.4, 1.8, 1.9};
  std::vector<double> expected;
  double sum = 0.0;
  for (const double distance : distances) {
    const double d = std::max(0.5, distance);
    expected.push_back(1.0 / (std::pow(d, 6.0) * std::pow(1.0 - d * d / 4.0, 2.5)));
    sum += expected.back();
  }
  std::map<std::int64_t, double> found = frequencies(distances);
  for (std::size_t k = 0; k < distances.size(); ++k) {
    const double share = expected[k] / sum;
    EXPECT_NEAR(found[signed_of(k)], share, 5.0 * std::sqrt(share * (1.0 - share) / 20000.0))
        << distances[k];
  }
}

TEST(Miners, TheDistanceRuleLeavesOutWhatIsBeyondItsUpperBound) {
  const std::map<std::int64_t, double> found = frequencies({1.0, 1.9, 1.1}, {{"upper", 1.4}});
  EXPECT_EQ(found.count(1), 0u);
  EXPECT_EQ(found.size(), 2u);
  // None within it: any of them.
  EXPECT_EQ(frequencies({1.5, 1.9, 1.7}, {{"upper", 1.4}}).size(), 3u);
}

TEST(Miners, NPairTakesOnePositiveAndANegativeOfEveryOtherClass) {
  const PlainBatch batch(2);
  const Mined mined = (*make_miner("npair"))(batch.input(5));
  EXPECT_EQ(list_of(mined.positives).size(), 9u);
  std::map<std::int64_t, std::set<std::int64_t>> classes;
  for (const auto& [a, n] : list_of(mined.negatives)) {
    EXPECT_FALSE(batch.same(a, n));
    EXPECT_TRUE(classes[a].insert(batch.labels[static_cast<std::size_t>(n)]).second);
  }
  EXPECT_EQ(classes.size(), 9u);
  for (const auto& [anchor, others] : classes) EXPECT_EQ(others.size(), 3u);
}

TEST(Miners, AllTakesEveryPairOnce) {
  const PlainBatch batch(2);
  const Mined mined = (*make_miner("all"))(batch.input(5));
  std::set<IndexPair> pairs;
  for (const auto& [a, p] : list_of(mined.positives)) {
    EXPECT_TRUE(batch.same(a, p));
    EXPECT_TRUE(a != p && pairs.insert({a, p}).second);
  }
  for (const auto& [a, n] : list_of(mined.negatives)) {
    EXPECT_FALSE(batch.same(a, n));
    EXPECT_TRUE(pairs.insert({a, n}).second);
  }
  EXPECT_EQ(pairs.size(), 10u * 9u);
  EXPECT_EQ(triplets_of(mined, 10).anchors.size(0), 9 * 2 * 7);
}

TEST(Miners, MultiSimilarityTakesWhatIsNotYetApart) {
  int taken = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const PlainBatch batch(seed);
    const auto similarity = [&](std::int64_t a, std::int64_t b) {
      return 1.0f - batch.distance(a, b) * batch.distance(a, b) / 2.0f;
    };
    std::set<IndexPair> expected;
    for (std::int64_t a = 0; a < batch.size(); ++a) {
      float least_positive = 9.0f;
      float most_negative = -9.0f;
      for (const std::int64_t p : batch.partners(a, true)) {
        least_positive = std::min(least_positive, similarity(a, p));
      }
      for (const std::int64_t n : batch.partners(a, false)) {
        most_negative = std::max(most_negative, similarity(a, n));
      }
      if (batch.partners(a, true).empty()) continue;
      for (const std::int64_t p : batch.partners(a, true)) {
        if (similarity(a, p) < most_negative + 0.1f) expected.insert({a, p});
      }
      for (const std::int64_t n : batch.partners(a, false)) {
        if (similarity(a, n) > least_positive - 0.1f) expected.insert({a, n});
      }
    }
    const Mined mined = (*make_miner("multi_similarity"))(batch.input(seed));
    std::set<IndexPair> found;
    for (const IndexPair& pair : list_of(torch::cat({mined.positives, mined.negatives}))) {
      EXPECT_TRUE(found.insert(pair).second);
    }
    EXPECT_EQ(found, expected);
    taken += static_cast<int>(found.size());
  }
  EXPECT_GT(taken, 100);
  EXPECT_LT(taken, 800);
}

TEST(Miners, ChooseTheSameFromTheSameSeedAndOthersFromAnother) {
  const PlainBatch batch(3);
  for (const MinerKind& kind : miner_kinds()) {
    const std::unique_ptr<Miner> miner = make_miner(kind.name);
    const Mined first = (*miner)(batch.input(1));
    const Mined again = (*make_miner(kind.name))(batch.input(1));
    EXPECT_TRUE(first.positives.equal(again.positives)) << kind.name;
    EXPECT_TRUE(first.negatives.equal(again.negatives)) << kind.name;
    const std::string name = kind.name;
    if (name == "all" || name == "multi_similarity") continue;
    const Mined other = (*miner)(batch.input(2));
    EXPECT_FALSE(first.negatives.equal(other.negatives)) << kind.name;
  }
}

TEST(Miners, TripletsAreTheChosenPairsOfEachAnchor) {
  const PlainBatch batch(4);
  const Mined mined = (*make_miner("distance"))(batch.input(1));
  const Triplets triplets = triplets_of(mined, batch.size());
  EXPECT_TRUE(triplets.anchors.equal(mined.positives.select(1, 0)));
  EXPECT_TRUE(triplets.positives.equal(mined.positives.select(1, 1)));
  EXPECT_TRUE(triplets.negatives.equal(mined.negatives.select(1, 1)));
}

TEST(Miners, DistancesThatAreNotNumbersStillGiveAChoice) {
  const PlainBatch batch(5);
  for (const MinerKind& kind : miner_kinds()) {
    if (std::string(kind.name) == "multi_similarity") continue;
    MinerInput input = batch.input(1);
    input.distances.fill_(std::nan(""));
    EXPECT_GE((*make_miner(kind.name))(input).negatives.size(0), 9) << kind.name;
  }
}

TEST(Miners, SecondNegativesAreOfAThirdClassEachInItsTurn) {
  const torch::Tensor labels = torch::tensor({0, 0, 1, 1, 2, 2, 3}, torch::kInt64);
  const Triplets triplets{torch::tensor({0, 0}, torch::kInt64),
                          torch::tensor({1, 1}, torch::kInt64),
                          torch::tensor({2, 6}, torch::kInt64)};
  std::set<std::int64_t> first;
  std::set<std::int64_t> second;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const SecondNegatives found = second_negatives(triplets, labels, seed);
    EXPECT_TRUE(found.found.all().item<bool>());
    first.insert(found.images[0].item<std::int64_t>());
    second.insert(found.images[1].item<std::int64_t>());
  }
  EXPECT_EQ(first, (std::set<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(second, (std::set<std::int64_t>{2, 3, 4, 5}));
  const torch::Tensor two_classes = torch::tensor({0, 0, 1, 1, 1, 1, 1}, torch::kInt64);
  EXPECT_FALSE(second_negatives(triplets, two_classes, 1).found.any().item<bool>());
}

TEST(Miners, UnknownNamesAreAnsweredWithTheNearest) {
  try {
    make_miner("distnace");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "there is no miner 'distnace': did you mean distance?");
  }
}

}  // namespace
}  // namespace diml::learn::test
