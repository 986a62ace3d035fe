#include "explain/part_truth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "diml/error.h"

namespace diml {
namespace {

constexpr GridShape kShape{3, 3};
constexpr std::size_t kCells = 9;

// An image whose cell c shows object places[c]: each object has its own direction.
std::vector<float> cells_showing(const std::vector<std::size_t>& things, std::size_t dim) {
  std::vector<float> cells(things.size() * dim);
  for (std::size_t c = 0; c < things.size(); ++c) cells[c * dim + things[c]] = 1.0F;
  return cells;
}

// Two images of one creature: the second is the first with its rows upside down, so thing k of
// cell (r, c) lies at (2 - r, c). Parts 0 to 8 are annotated where the things are.
struct TurnedPair {
  GridSet grids{2, kCells, kCells};
  std::vector<std::vector<PartCell>> parts{2};

  TurnedPair() {
    std::vector<std::size_t> upright(kCells);
    std::vector<std::size_t> turned(kCells);
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      const std::size_t other = (2 - cell / 3) * 3 + cell % 3;
      upright[cell] = cell;
      turned[other] = cell;
      parts[0].push_back({cell, cell});
      parts[1].push_back({cell, other});
    }
    grids.set(0, cells_showing(upright, kCells));
    grids.set(1, cells_showing(turned, kCells));
  }
};

std::map<std::string, PartMethod> by_name(const std::vector<PartMethod>& methods) {
  std::map<std::string, PartMethod> named;
  for (const PartMethod& method : methods) named[method.name] = method;
  return named;
}

TEST(PartTruth, KnowsTheRightAnswerOfAHandMadePair) {
  const TurnedPair pair;
  const std::vector<ImagePair> both = {{0, 1}, {1, 0}};
  const auto methods = by_name(judge_parts(pair.grids.view(), kShape, pair.parts, both, {}));
  for (const char* name :
       {"transport, cross_correlation", "transport, uniform", "nearest cosine"}) {
    EXPECT_EQ(methods.at(name).parts, 2 * kCells) << name;
    EXPECT_EQ(methods.at(name).exact, 1.0) << name;
    EXPECT_EQ(methods.at(name).within_one, 1.0) << name;
    EXPECT_EQ(methods.at(name).exact_error, 0.0) << name;
  }
  if (is_available(Backend::exact)) {
    EXPECT_EQ(methods.at("transport, exact solver").exact, 1.0);
  }
  // Only the middle row stays where it was, and nothing of the others comes within one cell.
  EXPECT_DOUBLE_EQ(methods.at("same position").exact, 3.0 / 9.0);
  EXPECT_DOUBLE_EQ(methods.at("same position").within_one, 3.0 / 9.0);
  EXPECT_DOUBLE_EQ(methods.at("centre").exact, 1.0 / 9.0);
  EXPECT_DOUBLE_EQ(methods.at("centre").within_one, 1.0);
}

TEST(PartTruth, OnlyPartsThatBothImagesShowAreAskedFor) {
  TurnedPair pair;
  pair.parts[0].resize(4);                     // parts 0 to 3
  pair.parts[1].erase(pair.parts[1].begin());  // not part 0
  const std::vector<ImagePair> one = {{0, 1}};
  const auto methods = by_name(judge_parts(pair.grids.view(), kShape, pair.parts, one, {}));
  EXPECT_EQ(methods.at("nearest cosine").parts, 3u);
  EXPECT_DOUBLE_EQ(methods.at("same position").exact, 1.0 / 3.0);
}

TEST(PartTruth, ErrorsCountPairsNotParts) {
  // By position, all parts of one pair are right and a third of the other: the shares differ far
  // more than those of eighteen independent answers.
  TurnedPair pair;
  GridSet grids(3, kCells, kCells);
  std::vector<std::size_t> upright(kCells);
  std::vector<std::size_t> turned(kCells);
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    upright[cell] = cell;
    turned[(2 - cell / 3) * 3 + cell % 3] = cell;
  }
  grids.set(0, cells_showing(upright, kCells));
  grids.set(1, cells_showing(turned, kCells));
  grids.set(2, cells_showing(upright, kCells));
  const std::vector<std::vector<PartCell>> parts = {pair.parts[0], pair.parts[1], pair.parts[0]};
  const std::vector<ImagePair> pairs = {{0, 1}, {0, 2}};
  const auto methods = by_name(judge_parts(grids.view(), kShape, parts, pairs, {}));
  EXPECT_DOUBLE_EQ(methods.at("same position").exact, 12.0 / 18.0);
  EXPECT_NEAR(methods.at("same position").exact_error, std::sqrt(2.0 * 9.0) / 18.0, 1e-12);
}

TEST(PartTruth, PartsFallIntoTheCellsOfTheCrop) {
  // 400 x 200 pixels: the short side becomes 256, so the scale is 1.28 and the crop of 224 shows
  // x from 112.5 to 287.5 and y from 12.5 to 187.5.
  const std::vector<PartLocation> parts = {{0, 113.0, 13.0},  {1, 287.0, 13.0},  {2, 113.0, 187.0},
                                           {3, 200.0, 100.0}, {4, 112.0, 100.0}, {5, 288.0, 100.0},
                                           {6, 200.0, 12.0},  {7, 200.0, 188.0}};
  const std::vector<PartCell> seen = cells_of_parts(parts, 400, 200, 256, 224, {7, 7});
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].cell, 0u);
  EXPECT_EQ(seen[1].cell, 6u);
  EXPECT_EQ(seen[2].cell, 42u);
  EXPECT_EQ(seen[3].cell, 24u);
  // Unequal: 2 rows of 5.
  EXPECT_EQ(cells_of_parts(parts, 400, 200, 256, 224, {2, 5})[2].cell, 5u);
}

TEST(PartTruth, PairsAreOfOneClassAndNoneTwice) {
  const std::vector<std::int64_t> labels = {0, 0, 0, 1, 1, 2};
  const std::vector<ImagePair> all = pairs_of_classes(labels, 100, 0);
  EXPECT_EQ(all.size(), 3u * 2 + 2u * 1);  // all there are
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const ImagePair& pair : all) {
    EXPECT_NE(pair.source, pair.target);
    EXPECT_EQ(labels[pair.source], labels[pair.target]);
    EXPECT_TRUE(seen.insert({pair.source, pair.target}).second);
  }
  const auto firsts = [&](std::uint64_t seed) {
    std::vector<std::size_t> sources;
    for (const ImagePair& pair : pairs_of_classes(labels, 8, seed)) sources.push_back(pair.source);
    return sources;
  };
  EXPECT_EQ(firsts(1), firsts(1));
  EXPECT_NE(firsts(1), firsts(2));
  const std::vector<std::int64_t> alone = {0, 1, 2};
  EXPECT_THROW(pairs_of_classes(alone, 1, 0), Error);
}

// Sources of a creature in two of nine cells, the rest is scenery that all images share.
struct Scenes {
  static constexpr std::size_t kDim = 12;
  GridSet grids{8, kCells, kDim};
  std::vector<std::int64_t> labels{0, 0, 1, 1, 2, 2, 3, 3};

  Scenes() {
    for (std::size_t image = 0; image < 8; ++image) {
      std::vector<float> cells(kCells * kDim, 0.0F);
      std::vector<float> global(kDim, 0.1F);
      const auto label = static_cast<std::size_t>(labels[image]);
      for (std::size_t c = 0; c < kCells; ++c) {
        const bool creature = c == image % 2 || c == 4 + image % 2;
        if (creature) {
          cells[c * kDim + label] = 1.0F;
        } else {  // scenery of this image only
          cells[c * kDim + 4 + image] = 1.0F;
        }
      }
      global[label] = 1.0F;
      grids.set(image, cells, global);
    }
  }
};

TEST(DeletionCurves, TakingAwayWhatCountsHurtsMostAndKeepingItHelpsMost) {
  const Scenes scenes;
  const std::vector<ImagePair> pairs = {{0, 1}, {2, 3}, {4, 5}, {7, 6}};
  CurveParams params;
  params.backend = Backend::reference;
  params.distractors = 100;  // all of the other classes
  params.steps = 9;
  const std::vector<Curve> curves =
      deletion_curves(scenes.grids.view(), scenes.labels, pairs, params);
  std::map<KeptCells, Curve> named;
  for (const Curve& curve : curves) named[curve.kept] = curve;
  ASSERT_EQ(named.size(), 3u);
  const Curve& strongest = named.at(KeptCells::strongest);
  const Curve& weakest = named.at(KeptCells::weakest);
  const Curve& random = named.at(KeptCells::random);
  ASSERT_EQ(strongest.points.size(), 9u);
  EXPECT_DOUBLE_EQ(strongest.points.back().kept, 1.0);
  // With all cells there is nothing to choose.
  EXPECT_DOUBLE_EQ(strongest.points.back().score, weakest.points.back().score);
  EXPECT_DOUBLE_EQ(strongest.points.back().score, random.points.back().score);
  // Two cells show the creature: with these alone the target is found, without them it is not.
  EXPECT_EQ(strongest.points[1].first, 1.0);
  EXPECT_EQ(weakest.points[6].first, 0.0);
  EXPECT_GT(strongest.score_area, random.score_area);
  EXPECT_GT(random.score_area, weakest.score_area);
  EXPECT_GT(strongest.rank_area, weakest.rank_area);
}

TEST(DeletionCurves, AreTheSameForTheSameSeed) {
  const Scenes scenes;
  const std::vector<ImagePair> pairs = {{0, 1}, {2, 3}};
  CurveParams params;
  params.distractors = 3;
  const auto first = deletion_curves(scenes.grids.view(), scenes.labels, pairs, params);
  const auto again = deletion_curves(scenes.grids.view(), scenes.labels, pairs, params);
  for (std::size_t c = 0; c < first.size(); ++c) {
    EXPECT_EQ(first[c].score_area, again[c].score_area);
    EXPECT_EQ(first[c].rank_area, again[c].rank_area);
  }
}

}  // namespace
}  // namespace diml
