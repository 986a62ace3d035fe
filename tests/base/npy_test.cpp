#include "base/npy.h"

#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/float16.h"
#include "base/raw_npy.h"
#include "base/temporary_folder.h"
#include "diml/error.h"

namespace diml {
namespace {

using test::npy;
using test::npy_with_header;
using test::raw;

const std::vector<float> kSixFloats = {1.0f, -2.5f, 3.25f, 0.0f, 1e-30f, 6e30f};

class NpyFileTest : public testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    test::write_bytes(path_, bytes);
    return path_;
  }

  // Opening the file throws Error with a message that names it and says `why`, on one line.
  void expect_refused(const std::string& bytes, const std::string& why) {
    write(bytes);
    expect_cannot_open(path_, why);
  }

  static void expect_cannot_open(const std::string& path, const std::string& why) {
    try {
      const NpyFile file(path);
      FAIL() << "opened as " << shape_text(file.shape());
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(path + ": "), 0u) << message;
      EXPECT_NE(message.find(why), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "array.npy";
};

std::vector<float> all_floats(const NpyFile& file) {
  std::vector<float> values(file.count());
  file.read_floats(0, values);
  return values;
}

TEST_F(NpyFileTest, ReadsFloat32AsNumpySavesIt) {
  const NpyFile file(write(npy("<f4", {2, 3}, raw(kSixFloats))));
  EXPECT_EQ(file.path(), path_);
  EXPECT_EQ(file.type(), ArrayType::float32);
  EXPECT_EQ(file.shape(), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(file.count(), 6u);
  EXPECT_EQ(all_floats(file), kSixFloats);
}

TEST_F(NpyFileTest, ReadsInt64AsNumpySavesIt) {
  const std::vector<std::int64_t> values = {3, -1, std::int64_t{1} << 62};
  const NpyFile file(write(npy("<i8", {3}, raw(values))));
  EXPECT_EQ(file.type(), ArrayType::int64);
  EXPECT_EQ(file.shape(), (std::vector<std::size_t>{3}));
  std::vector<std::int64_t> read(3);
  file.read_int64s(0, read);
  EXPECT_EQ(read, values);
}

TEST_F(NpyFileTest, WidensFloat16) {
  const std::vector<std::uint16_t> halves = {0x3c00, 0xc100, 0x0001, 0x7bff};
  const NpyFile file(write(npy("<f2", {2, 2}, raw(halves))));
  EXPECT_EQ(file.type(), ArrayType::float16);
  EXPECT_EQ(all_floats(file), (std::vector<float>{1.0f, -2.5f, 0x1p-24f, 65504.0f}));
}

TEST_F(NpyFileTest, WidensMoreFloat16ThanOneBlockHolds) {
  std::vector<std::uint16_t> halves(10001);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const NpyFile file(write(npy("<f2", {10001}, raw(halves))));
  std::vector<float> part(9000);
  file.read_floats(1000, part);
  for (std::size_t i = 0; i < part.size(); ++i) {
    ASSERT_EQ(part[i], to_float(Float16{halves[1000 + i]})) << i;
  }
}

TEST_F(NpyFileTest, ReadsAnyStretch) {
  const NpyFile file(write(npy("<f4", {2, 3}, raw(kSixFloats))));
  std::vector<float> middle(2);
  file.read_floats(3, middle);
  EXPECT_EQ(middle, (std::vector<float>{kSixFloats[3], kSixFloats[4]}));
}

TEST_F(NpyFileTest, ReadsAllVersionsOfTheFormat) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  for (const int version : {1, 2, 3}) {
    const NpyFile file(write(npy_with_header(header, raw(kSixFloats), version)));
    EXPECT_EQ(all_floats(file), kSixFloats) << "version " << version;
  }
}

TEST_F(NpyFileTest, ReadsAHeaderWhoseKeysStandInAnotherOrder) {
  const NpyFile file(write(npy_with_header(
      "{'shape': (3, 2), 'fortran_order': False, 'descr': '<f4'}", raw(kSixFloats))));
  EXPECT_EQ(file.shape(), (std::vector<std::size_t>{3, 2}));
  EXPECT_EQ(all_floats(file), kSixFloats);
}

TEST_F(NpyFileTest, ReadsAScalarAndAnEmptyArray) {
  const NpyFile scalar(write(npy("<f4", {}, raw(std::vector<float>{7.0f}))));
  EXPECT_TRUE(scalar.shape().empty());
  EXPECT_EQ(all_floats(scalar), std::vector<float>{7.0f});
  const NpyFile empty(write(npy("<i8", {0, 2}, "")));
  EXPECT_EQ(empty.shape(), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(empty.count(), 0u);
}

TEST_F(NpyFileTest, RefusesATruncatedFile) {
  const std::string whole = npy("<f4", {2, 3}, raw(kSixFloats));
  for (const std::size_t missing : {1u, 4u, 24u}) {
    expect_refused(whole.substr(0, whole.size() - missing), "truncated");
  }
}

TEST_F(NpyFileTest, RefusesAFileThatEndsInItsHeader) {
  const std::string whole = npy("<f4", {2, 3}, raw(kSixFloats));
  for (const std::size_t length : {12u, 13u, 60u, 127u}) {
    expect_refused(whole.substr(0, length), "truncated in its header");
  }
}

TEST_F(NpyFileTest, RefusesTrailingBytes) {
  expect_refused(npy("<f4", {2, 3}, raw(kSixFloats) + '\0'), "[2, 3]");
}

TEST_F(NpyFileTest, RefusesWhatIsNotNpy) {
  expect_refused("", "not a .npy file");
  expect_refused("\x93NUMPY", "not a .npy file");
  expect_refused("source,target\n0,1\n1,2\n", "not a .npy file");
  expect_refused(std::string(200, '\0'), "not a .npy file");
}

TEST_F(NpyFileTest, RefusesAMissingFile) {
  expect_cannot_open(folder_ / "missing.npy", "No such file");
}

TEST_F(NpyFileTest, RefusesAFolder) { expect_cannot_open(folder_.path(), "not a regular file"); }

TEST_F(NpyFileTest, RefusesFortranOrder) {
  expect_refused(npy("<f4", {2, 3}, raw(kSixFloats), "True"), "Fortran order");
}

TEST_F(NpyFileTest, RefusesOtherTypesAndNamesThem) {
  const std::string bytes(48, '\0');
  for (const char* descr :
       {">f4", "<u8", "|b1", "<c8", ">U2", "<U", "<U0", "<U99999999999", "|O"}) {
    expect_refused(npy(descr, {2, 3}, bytes), std::string("'") + std::string(descr).substr(0, 14));
  }
}

TEST_F(NpyFileTest, ReadsFloatsAndIntegersOfEveryWidth) {
  std::vector<float> floats(3);
  NpyFile(write(npy("<f8", {3}, raw(std::vector<double>{0.5, -2.0, 1e-3})))).read_floats(0, floats);
  EXPECT_EQ(floats, (std::vector<float>{0.5F, -2.0F, 1e-3F}));
  const auto integers = [&](const char* descr, const std::string& bytes) {
    std::vector<std::int64_t> values(2);
    NpyFile(write(npy(descr, {2}, bytes))).read_int64s(0, values);
    return values;
  };
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(integers("<i4", raw(std::vector<std::int32_t>{-7, 1 << 30})), (Integers{-7, 1 << 30}));
  EXPECT_EQ(integers("<i2", raw(std::vector<std::int16_t>{-7, 300})), (Integers{-7, 300}));
  EXPECT_EQ(integers("|i1", raw(std::vector<std::int8_t>{-7, 100})), (Integers{-7, 100}));
  EXPECT_EQ(integers("<u4", raw(std::vector<std::uint32_t>{7, 4000000000U})),
            (Integers{7, 4000000000}));
  EXPECT_EQ(integers("<u2", raw(std::vector<std::uint16_t>{7, 65535})), (Integers{7, 65535}));
  EXPECT_EQ(integers("|u1", raw(std::vector<std::uint8_t>{7, 255})), (Integers{7, 255}));
}

TEST_F(NpyFileTest, ReadsWordsOfBothKinds) {
  std::vector<std::string> words(2);
  NpyFile(write(npy("|S4", {2}, std::string("pug\0toad", 8)))).read_texts(0, words);
  EXPECT_EQ(words, (std::vector<std::string>{"pug", "toad"}));
  const std::vector<char32_t> letters = {U'a', U'\u00e4', U'\u20ac', U'\U0001f415', 0, 0};
  NpyFile(write(npy("<U3", {2}, raw(letters)))).read_texts(0, words);
  EXPECT_EQ(words, (std::vector<std::string>{"a\u00e4\u20ac", "\U0001f415"}));
}

TEST_F(NpyFileTest, RefusesAnUnknownVersion) {
  std::string bytes = npy("<f4", {2, 3}, raw(kSixFloats));
  for (const char version : {'\0', '\x04', '\x7f'}) {
    bytes[6] = version;
    expect_refused(bytes, "version");
  }
}

TEST_F(NpyFileTest, RefusesAShapeThatCannotBeRead) {
  const std::string data = raw(kSixFloats);
  for (const char* shape : {"6", "(-6,)", "(2, x)", "(2, 3", "None"}) {
    expect_refused(
        npy_with_header(
            std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + ", }",
            data),
        "shape");
  }
  expect_refused(npy_with_header("{'descr': '<f4', 'fortran_order': False, }", data), "shape");
}

TEST_F(NpyFileTest, RefusesAShapeWhoseProductOverflows) {
  // Modulo 2^64 these make 0 and 6 elements, which the file would have.
  expect_refused(npy("<f4", {std::size_t{1} << 32, std::size_t{1} << 32}, ""), "shape");
  expect_refused(npy_with_header("{'descr': '<f4', 'fortran_order': False, "
                                 "'shape': (18446744073709551622,), }",
                                 raw(kSixFloats)),
                 "shape");
}

TEST_F(NpyFileTest, RefusesMoreDimensionsThanNumpyHas) {
  expect_refused(npy("<f4", std::vector<std::size_t>(33, 1), raw(std::vector<float>{1.0f})),
                 "shape");
}

TEST_F(NpyFileTest, RefusesAHeaderWithoutType) {
  expect_refused(npy_with_header("{'fortran_order': False, 'shape': (2, 3), }", raw(kSixFloats)),
                 "type");
}

TEST_F(NpyFileTest, RefusesToReadTheOtherType) {
  std::vector<float> floats(1);
  std::vector<std::int64_t> integers(1);
  const NpyFile integer_file(write(npy("<i8", {1}, raw(integers))));
  EXPECT_THROW(integer_file.read_floats(0, floats), Error);
  const NpyFile float_file(write(npy("<f4", {1}, raw(floats))));
  EXPECT_THROW(float_file.read_int64s(0, integers), Error);
}

TEST_F(NpyFileTest, RefusesToReadBeyondTheEnd) {
  const NpyFile file(write(npy("<f4", {2, 3}, raw(kSixFloats))));
  std::vector<float> values(4);
  EXPECT_THROW(file.read_floats(3, values), Error);
}

TEST(ShapeText, IsWrittenInBrackets) {
  EXPECT_EQ(shape_text(std::vector<std::size_t>{60502, 16, 128}), "[60502, 16, 128]");
  EXPECT_EQ(shape_text(std::vector<std::size_t>{}), "[]");
}

TEST(ArrayType, HasItsSizeAndName) {
  EXPECT_EQ(size_of(ArrayType::float32), 4u);
  EXPECT_EQ(size_of(ArrayType::float16), 2u);
  EXPECT_EQ(size_of(ArrayType::int64), 8u);
  EXPECT_STREQ(name_of(ArrayType::float32), "float32");
  EXPECT_STREQ(name_of(ArrayType::float16), "float16");
  EXPECT_STREQ(name_of(ArrayType::int64), "int64");
}

TEST_F(NpyFileTest, DoesNotWaitForAPipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THROW(NpyFile file(path_), Error);
}

}  // namespace
}  // namespace diml
