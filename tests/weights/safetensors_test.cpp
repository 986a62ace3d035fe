#include <string>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "weights/refusal.h"
#include "weights/weights.h"

namespace diml {
namespace {

using test::expect_refused;

// The bytes of any file, including those that the library never writes and must refuse.
std::string file(const std::string& header, std::size_t data_bytes,
                 std::uint64_t length = ~std::uint64_t{0}) {
  if (length == ~std::uint64_t{0}) length = header.size();
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(length >> shift & 0xff);
  bytes += header;
  for (std::size_t k = 0; k < data_bytes; ++k) bytes += static_cast<char>(k);
  return bytes;
}

Weights parse(const std::string& bytes) {
  return parse_safetensors({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

std::string entry(const std::string& name, const std::string& offsets,
                  const std::string& shape = "[2]", const std::string& dtype = "F32") {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

void refuses(const std::string& header, std::size_t data_bytes, const std::string& why) {
  expect_refused([&] { parse(file(header, data_bytes)); }, why);
}

TEST(Safetensors, MayHoldTensorsInAnyOrderOfNames) {
  const Weights weights =
      parse(file("{" + entry("b", "[0,8]") + "," + entry("a", "[8,16]") + "}", 16));
  EXPECT_EQ(weights.tensors.at("b").bytes.front(), 0);
  EXPECT_EQ(weights.tensors.at("a").bytes.front(), 8);
}

TEST(Safetensors, MayHoldNothing) {
  EXPECT_TRUE(parse(file("{}", 0)).tensors.empty());
  EXPECT_TRUE(parse(file("{}      ", 0)).tensors.empty());
}

TEST(Safetensors, KeepsMetadata) {
  const Weights weights = parse(file(R"({"__metadata__":{"format":"pt","x":""}})", 0));
  EXPECT_EQ(weights.metadata, (std::map<std::string, std::string>{{"format", "pt"}, {"x", ""}}));
}

TEST(Safetensors, MayHoldScalarsAndEmptyTensors) {
  const Weights weights = parse(file(
      "{" + entry("steps", "[0,8]", "[]", "I64") + "," + entry("none", "[8,8]", "[0,3]") + "}", 8));
  EXPECT_EQ(weights.tensors.at("steps").count(), 1u);
  EXPECT_EQ(weights.tensors.at("none").count(), 0u);
}

TEST(Safetensors, RefusesOffsetsThatContradictEachOther) {
  refuses("{" + entry("a", "[0,8]") + "," + entry("b", "[4,12]") + "}", 12, "tensor b at byte 4");
  refuses("{" + entry("a", "[0,8]") + "," + entry("b", "[12,20]") + "}", 20, "8 is next");
  refuses("{" + entry("a", "[0,8]") + "," + entry("b", "[0,8]") + "}", 8, "8 is next");
  refuses("{" + entry("a", "[4,12]") + "}", 12, "0 is next");
  refuses("{" + entry("a", "[0,8]") + "}", 9, "9 bytes of data where its tensors need 8");
  refuses("{" + entry("a", "[0,8]") + "}", 7, "outside of the data");
  refuses("{" + entry("a", "[8,0]") + "}", 8, "outside of the data");
  refuses("{" + entry("a", "[0]") + "}", 8, "outside of the data");
  refuses("{" + entry("a", "[0,18446744073709551615]") + "}", 8, "outside of the data");
}

TEST(Safetensors, RefusesShapesThatTheirOffsetsContradict) {
  refuses("{" + entry("a", "[0,8]", "[3]") + "}", 8, "its shape [3] needs 12");
  refuses("{" + entry("a", "[0,8]", "[4294967296,4294967296,2]") + "}", 8,
          "larger than any memory");
  refuses("{" + entry("a", "[0,0]", "[0,4294967296,4294967296]") + "}", 0,
          "larger than any memory");
  refuses("{" + entry("a", "[0,8]", "[-2]") + "}", 8, "not a list of whole numbers");
  refuses("{" + entry("a", "[0,8]", "[2.0]") + "}", 8, "not a list of whole numbers");
  refuses("{" + entry("a", "[0,8]", "{\"x\":2}") + "}", 8, "not a list of whole numbers");
  refuses("{" + entry("a", "[0,8]", "2") + "}", 8, "not a list of whole numbers");
}

TEST(Safetensors, RefusesOtherTypesAndNamesThem) {
  for (const std::string type : {"BOOL", "F8_E4M3", "I8", "U16", "f32", ""}) {
    refuses("{" + entry("a", "[0,8]", "[2]", type) + "}", 8, "has type " + type + ":");
  }
}

TEST(Safetensors, RefusesANameThatComesTwice) {
  refuses("{" + entry("a", "[0,8]") + "," + entry("a", "[8,16]") + "}", 16, "has a twice");
}

TEST(Safetensors, RefusesAHeaderThatIsNone) {
  refuses("[]", 0, "not a JSON object");
  refuses("{", 0, "not valid JSON");
  refuses("{\"a\":1}", 0, "tensor a has no dtype");
  refuses("{\"a\":{}}", 0, "tensor a has no dtype");
  refuses("{\"a\":{\"dtype\":1}}", 0, "a dtype that is not text");
  refuses("{\"__metadata__\":3}", 0, "metadata");
  refuses("{\"__metadata__\":{\"a\":3}}", 0, "metadata a");
  refuses("{\"\xff\":{}}", 0, "not valid JSON");
  refuses("{\"a\":1e999}", 0, "out of range");
  refuses(std::string(1000, '['), 0, "nested deeper");
}

TEST(Safetensors, RefusesALengthThatCannotBe) {
  expect_refused([] { parse(file("{}", 0, 3)); }, "truncated");
  expect_refused([] { parse(file("{}", 0, 100'000'001)); }, "100000001 bytes");
  expect_refused([] { parse(file("{}", 0, ~std::uint64_t{0} - 8)); }, "not a safetensors file");
  expect_refused([] { parse(""); }, "truncated");
}

// In time that grows with their number, not with its square.
TEST(Safetensors, MayHoldManyTensors) {
  std::string header = "{";
  constexpr std::size_t kMany = 100'000;
  for (std::size_t k = 0; k < kMany; ++k) {
    const std::string offsets = "[" + std::to_string(k) + "," + std::to_string(k + 1) + "]";
    header += (k > 0 ? "," : "") + entry(std::to_string(k), offsets, "[1]", "U8");
  }
  EXPECT_EQ(parse(file(header + "}", kMany)).tensors.size(), kMany);
}

TEST(Safetensors, ShowsStrangeNamesOnOneLine) {
  refuses("{" + entry("a\\nb\\u0007", "[0,9]") + "}", 9, "tensor a?b? has 9 bytes");
  refuses("{" + entry(std::string(5000, 'x'), "[0,9]") + "}", 9, std::string(80, 'x') + "... has");
}

class WriteSafetensors : public testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "model.safetensors";
  Weights weights_{{{"b", make_tensor({2}, std::vector<float>{1.0f, 2.0f})},
                    {"a", make_tensor({1, 1}, std::vector<float>{3.0f})}},
                   {{"key", "value \"quoted\""}}};
};

TEST_F(WriteSafetensors, PutsTensorsInOrderOfNamesBehindAnAlignedHeader) {
  write_safetensors(path_, weights_);
  const std::string bytes = test::bytes_of(path_);
  const std::size_t length = static_cast<unsigned char>(bytes[0]);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + 12);
  EXPECT_EQ(bytes.substr(8 + length, 4), std::string("\x00\x00\x40\x40", 4));
  EXPECT_LT(bytes.find("\"a\""), bytes.find("\"b\""));
}

TEST_F(WriteSafetensors, WritesTheSameBytesEveryTime) {
  write_safetensors(path_, weights_);
  const std::string first = test::bytes_of(path_);
  write_safetensors(path_, read_safetensors(path_));
  EXPECT_EQ(test::bytes_of(path_), first);
}

TEST_F(WriteSafetensors, RefusesWhatItCouldNotReadAgain) {
  const auto refused = [this](const Weights& weights, const std::string& why) {
    expect_refused([&] { write_safetensors(path_, weights); }, path_ + ": ");
    expect_refused([&] { write_safetensors(path_, weights); }, why);
  };
  Weights bad = weights_;
  bad.tensors["a"].bytes.pop_back();
  refused(bad, "tensor a has 3 bytes");
  refused({{{"__metadata__", weights_.tensors["a"]}}, {}}, "__metadata__");
  refused({{{"\xff", weights_.tensors["a"]}}, {}}, "UTF-8");
  refused({{}, {{"note", "\xc3"}}}, "UTF-8");
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(WriteSafetensors, RefusesAPlaceThatIsNone) {
  expect_refused([&] { write_safetensors(folder_ / "none/model.safetensors", weights_); },
                 "cannot be written");
}

}  // namespace
}  // namespace diml
