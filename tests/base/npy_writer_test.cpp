#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/float16.h"
#include "base/npy.h"
#include "base/temporary_folder.h"
#include "diml/error.h"

namespace diml {
namespace {

using Shape = std::vector<std::size_t>;

class NpyWriterTest : public testing::Test {
 protected:
  std::string write(ArrayType type, const Shape& shape, const std::vector<float>& values) {
    NpyWriter writer(path_, type, shape);
    writer.append(values);
    writer.commit();
    return path_;
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "array.npy";
};

TEST_F(NpyWriterTest, WritesWhatNumpyReads) {
  const std::string bytes = test::bytes_of(write(ArrayType::float32, {2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t header =
      static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  EXPECT_EQ((10 + header) % 64, 0u) << "the data is aligned";
  EXPECT_EQ(bytes.size(), 10 + header + 6 * sizeof(float));
  EXPECT_EQ(bytes[10 + header - 1], '\n');
  EXPECT_EQ(bytes.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2,"), 10u);
}

TEST_F(NpyWriterTest, AlignsTheDataWhateverTheLengthOfTheHeader) {
  for (std::size_t dimensions = 1; dimensions <= 32; ++dimensions) {
    write(ArrayType::float32, Shape(dimensions, 1), {42.0f});
    const NpyFile file(path_);
    EXPECT_EQ(file.shape(), Shape(dimensions, 1));
    EXPECT_EQ((test::bytes_of(path_).size() - sizeof(float)) % 64, 0u) << dimensions;
  }
}

TEST_F(NpyWriterTest, Float32ComesBackBitForBit) {
  const std::vector<float> values = {0.1f, -1e38f, std::numeric_limits<float>::denorm_min(), -0.0f};
  const NpyFile file(write(ArrayType::float32, {4, 1}, values));
  EXPECT_EQ(file.type(), ArrayType::float32);
  EXPECT_EQ(file.shape(), (Shape{4, 1}));
  std::vector<float> read(4);
  file.read_floats(0, read);
  EXPECT_EQ(read, values);
}

TEST_F(NpyWriterTest, Float16ComesBackRounded) {
  const std::vector<float> values = {0.1f, -3.0f, 1e-9f, 2049.0f};
  const NpyFile file(write(ArrayType::float16, {2, 2}, values));
  EXPECT_EQ(file.type(), ArrayType::float16);
  std::vector<float> read(4);
  file.read_floats(0, read);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(read[i], to_float(to_float16(values[i])));
}

TEST_F(NpyWriterTest, Int64ComesBackFromSeveralPieces) {
  NpyWriter writer(path_, ArrayType::int64, Shape{3});
  const std::vector<std::int64_t> values = {std::numeric_limits<std::int64_t>::min(), 0, 77};
  writer.append(std::span(values).first(1));
  writer.append(std::span(values).subspan(1));
  writer.commit();
  const NpyFile file(path_);
  EXPECT_EQ(file.type(), ArrayType::int64);
  std::vector<std::int64_t> read(3);
  file.read_int64s(0, read);
  EXPECT_EQ(read, values);
}

TEST_F(NpyWriterTest, WritesScalarsAndEmptyArrays) {
  EXPECT_TRUE(NpyFile(write(ArrayType::float32, {}, {7.0f})).shape().empty());
  EXPECT_EQ(NpyFile(write(ArrayType::float32, {5, 0}, {})).shape(), (Shape{5, 0}));
}

TEST_F(NpyWriterTest, RefusesToCommitTooFewElements) {
  {
    NpyWriter writer(path_, ArrayType::float32, Shape{2, 3});
    writer.append(std::vector<float>(5));
    EXPECT_THROW(writer.commit(), Error);
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{});
}

TEST_F(NpyWriterTest, RefusesToCommitTooManyElements) {
  {
    NpyWriter writer(path_, ArrayType::float32, Shape{2, 3});
    writer.append(std::vector<float>(6));
    writer.append(std::vector<float>(1));
    EXPECT_THROW(writer.commit(), Error);
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{});
}

TEST_F(NpyWriterTest, LeavesNothingWithoutCommit) {
  {
    NpyWriter writer(path_, ArrayType::float32, Shape{1});
    writer.append(std::vector<float>(1));
  }
  EXPECT_EQ(folder_.names(), std::vector<std::string>{});
}

TEST_F(NpyWriterTest, RefusesValuesOfAnotherKindThanItsType) {
  NpyWriter integers(path_, ArrayType::int64, std::vector<std::size_t>{1});
  EXPECT_THROW(integers.append(std::vector<float>{1.0f}), Error);
  NpyWriter floats(path_, ArrayType::float32, std::vector<std::size_t>{1});
  EXPECT_THROW(floats.append(std::vector<std::int64_t>{1}), Error);
}

}  // namespace
}  // namespace diml
