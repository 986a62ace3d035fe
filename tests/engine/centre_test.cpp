#include "diml/centre.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "diml/open_network.h"

namespace diml::test {
namespace {

const std::vector<std::string> kPhotos = {DIML_IMAGES "/420.jpg", DIML_IMAGES "/444.jpg",
                                          DIML_IMAGES "/grey.jpg", DIML_IMAGES "/deep.png"};

// The maps of all photos, [photos, places, dim]: not normalised.
std::vector<float> maps_of(const Model& model) {
  const std::unique_ptr<Network> network = make_network(model, {});
  const std::size_t crop = model.preprocessing.crop;
  const MapShape shape = network->output_shape(crop, crop);
  std::vector<float> pixels(3 * crop * crop);
  std::vector<float> map(shape.count());
  std::vector<float> all;
  for (const std::string& photo : kPhotos) {
    preprocess(read_image(photo), model.preprocessing, pixels);
    network->forward(pixels, 1, crop, crop, map);
    all.insert(all.end(), map.begin(), map.end());
  }
  return all;
}

std::vector<double> mean_of(const std::vector<float>& maps, std::size_t dim) {
  std::vector<double> mean(dim, 0.0);
  for (std::size_t k = 0; k < maps.size(); ++k) mean[k % dim] += maps[k];
  for (double& value : mean) value /= static_cast<double>(maps.size() / dim);
  return mean;
}

double length_of(const std::vector<double>& vector) {
  double sum = 0.0;
  for (const double value : vector) sum += value * value;
  return std::sqrt(sum);
}

TEST(Centre, EmbeddingsHaveNothingInCommonAndDifferAsBefore) {
  constexpr std::size_t kDim = 24;
  const Model model = make_model("small", StridePlace::in_3x3, kDim, 3);
  const Model result = centred(model, kPhotos, {})->model;
  const std::vector<float> before = maps_of(model);
  const std::vector<float> after = maps_of(result);
  const std::vector<double> common = mean_of(before, kDim);
  EXPECT_GT(length_of(common), 0.1);
  EXPECT_LT(length_of(mean_of(after, kDim)), 1e-4 * length_of(common));
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t k = 0; k < after.size(); ++k) {
    ASSERT_NEAR(after[k], before[k] - common[k % kDim], 1e-4 * length_of(common)) << k;
  }
  EXPECT_EQ(result.tensors.at("projection.weight").bytes,
            model.tensors.at("projection.weight").bytes);
  EXPECT_EQ(result.provenance, "random weights, seed 3; centred by 4 photos");
}

TEST(Centre, WhatCannotBeCentredIsRefused) {
  expect_refused([] { centred(make_model("small", StridePlace::in_3x3, 0, 3), kPhotos, {}); },
                 "without projection");
  const Model model = make_model("small", StridePlace::in_3x3, 8, 3);
  expect_refused([&] { centred(model, {}, {}); }, "no photos");
  expect_refused([&] { centred(model, std::vector<std::string>{"none.jpg"}, {}); }, "none.jpg");
  const std::vector<std::string> none = {"none.jpg"};
  expect_refused([&] { centred(model, none, {.bad = BadImages::skip}); }, "none of the photos");
}

TEST(Centre, WhatCannotBeReadIsLeftOutAndToldWhereThatIsWanted) {
  const Model model = make_model("small", StridePlace::in_3x3, 8, 3);
  std::vector<std::string> more = kPhotos;
  more.insert(more.begin() + 1, "none.jpg");
  const std::optional<Centred> result = centred(model, more, {.bad = BadImages::skip});
  ASSERT_EQ(result->bad.size(), 1u);
  EXPECT_NE(result->bad.front().find("none.jpg"), std::string::npos);
  EXPECT_EQ(result->model.tensors.at("projection.bias").bytes,
            centred(model, kPhotos, {})->model.tensors.at("projection.bias").bytes);
}

TEST(Centre, AStopIsNoModel) {
  const Model model = make_model("small", StridePlace::in_3x3, 8, 3);
  const std::vector<std::string> many(200, kPhotos.front());
  EXPECT_FALSE(centred(model, many, {}, {}, [] { return true; }));
}

}  // namespace
}  // namespace diml::test
