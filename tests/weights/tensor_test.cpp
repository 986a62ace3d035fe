#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "weights/refusal.h"
#include "weights/weights.h"

namespace diml {
namespace {

using test::expect_refused;

TEST(Tensor, IsMadeOfFloatsAndGivesThemBack) {
  const std::vector<float> values = {1.0f, -2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
  const Tensor tensor = make_tensor({2, 3}, values);
  EXPECT_EQ(tensor.type, TensorType::float32);
  EXPECT_EQ(tensor.count(), 6u);
  EXPECT_EQ(tensor.floats(), values);
}

TEST(Tensor, OfNoDimensionsHasOneElement) {
  EXPECT_EQ(make_tensor({}, std::vector<float>{7.0f}).floats(), std::vector<float>{7.0f});
  EXPECT_EQ(make_tensor({0, 3}, {}).count(), 0u);
}

TEST(Tensor, RefusesAShapeThatItsValuesContradict) {
  const std::vector<float> six(6);
  expect_refused([&] { make_tensor({2, 2}, six); }, "[2, 2]");
  expect_refused([&] { make_tensor({std::size_t{1} << 63, 2}, six); }, "larger than any memory");
  Tensor tensor = make_tensor({2, 3}, six);
  tensor.bytes.pop_back();
  expect_refused([&] { tensor.floats(); }, "contradicts");
}

TEST(Tensor, WidensHalvesAndRoundsDoubles) {
  const Tensor half{TensorType::float16, {2}, {0x00, 0x3c, 0x00, 0xc1}};
  EXPECT_EQ(half.floats(), (std::vector<float>{1.0f, -2.5f}));
  const Tensor brain{TensorType::bfloat16, {2}, {0x80, 0x3f, 0x20, 0xc0}};
  EXPECT_EQ(brain.floats(), (std::vector<float>{1.0f, -2.5f}));
  Tensor wide{TensorType::float64, {1}, std::vector<std::uint8_t>(8)};
  const double third = 1.0 / 3.0;
  std::memcpy(wide.bytes.data(), &third, sizeof third);
  EXPECT_EQ(wide.floats(), std::vector<float>{static_cast<float>(third)});
}

TEST(Tensor, OfIntegersHasNoFloats) {
  const Tensor steps{TensorType::int64, {}, std::vector<std::uint8_t>(8)};
  expect_refused([&] { steps.floats(); }, "int64");
}

TEST(TensorType, HasItsSizeAndName) {
  const std::vector<std::pair<TensorType, std::size_t>> sizes = {
      {TensorType::float32, 4}, {TensorType::float16, 2}, {TensorType::bfloat16, 2},
      {TensorType::float64, 8}, {TensorType::int64, 8},   {TensorType::int32, 4},
      {TensorType::uint8, 1}};
  for (const auto& [type, size] : sizes) EXPECT_EQ(size_of(type), size) << name_of(type);
  EXPECT_STREQ(name_of(TensorType::bfloat16), "bfloat16");
  EXPECT_STREQ(name_of(TensorType::uint8), "uint8");
}

}  // namespace
}  // namespace diml
