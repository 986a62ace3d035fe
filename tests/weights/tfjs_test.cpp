#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "weights/refusal.h"
#include "weights/weights.h"

namespace diml {
namespace {

using test::expect_refused;

std::string model(const std::string& weights, const std::string& paths = R"(["s1"])") {
  return R"({"modelTopology":{},"weightsManifest":[{"paths":)" + paths + R"(,"weights":[)" +
         weights + "]}]}";
}

std::string weight(const std::string& name, const std::string& shape,
                   const std::string& dtype = "float32", const std::string& more = "") {
  return R"({"name":")" + name + R"(","shape":)" + shape + R"(,"dtype":")" + dtype + "\"" + more +
         "}";
}

Weights parse(const std::string& json, std::size_t shard_bytes) {
  std::vector<std::uint8_t> shards(shard_bytes);
  std::iota(shards.begin(), shards.end(), std::uint8_t{0});
  return parse_tfjs({reinterpret_cast<const std::uint8_t*>(json.data()), json.size()}, shards);
}

TEST(Tfjs, CutsShardsAsTheManifestSays) {
  const Weights weights = parse(model(weight("b", "[1,2]", "uint8") + "," + weight("a", "[]")), 6);
  EXPECT_EQ(weights.tensors.at("b").bytes, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(weights.tensors.at("a").bytes, (std::vector<std::uint8_t>{2, 3, 4, 5}));
}

TEST(Tfjs, RefusesShardsOfAnotherSize) {
  const std::string json = model(weight("a", "[2]"));
  expect_refused([&] { parse(json, 7); }, "7 bytes where its weights need 8");
  expect_refused([&] { parse(json, 9); }, "9 bytes where its weights need 8");
  expect_refused([] { parse(model(weight("a", "[281474976710656]")), 4); },
                 "larger than any memory");
}

TEST(Tfjs, RefusesQuantisedWeights) {
  expect_refused([] { parse(model(weight("a", "[8]", "float32", ",\"quantization\":{}")), 8); },
                 "weight a is quantised");
}

TEST(Tfjs, RefusesOtherTypesAndNamesThem) {
  for (const std::string type : {"bool", "string", "complex64", "float16"}) {
    expect_refused([&] { parse(model(weight("a", "[8]", type)), 8); }, "has type " + type + ":");
  }
}

TEST(Tfjs, RefusesWhatIsNoModel) {
  expect_refused([] { parse("{}", 0); }, "no weightsManifest");
  expect_refused([] { parse("[]", 0); }, "no weightsManifest");
  expect_refused([] { parse("", 0); }, "not valid JSON");
  expect_refused([] { parse(R"({"weightsManifest":3})", 0); }, "not a list");
  expect_refused([] { parse(R"({"weightsManifest":[3]})", 0); }, "has no paths");
  expect_refused([] { parse(R"({"weightsManifest":[{"paths":[3],"weights":[]}]})", 0); },
                 "not text");
  expect_refused([] { parse(model("3"), 0); }, "a weight has no name");
  expect_refused([] { parse(model(weight("a", "[0]") + "," + weight("a", "[0]")), 0); },
                 "two tensors called a");
}

class TfjsFolder : public testing::Test {
 protected:
  std::string with(const std::string& json) {
    test::write_bytes(path_, json);
    return path_;
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "model.json";
};

TEST_F(TfjsFolder, IsFoundByItsNameOrByItsFile) {
  for (const std::string& path : {test::golden("tfjs"), test::golden("tfjs/model.json")}) {
    EXPECT_EQ(read_weights(path).tensors.size(), 5u) << path;
  }
  expect_refused([&] { read_weights(folder_.path()); }, "without model.json");
}

TEST_F(TfjsFolder, KeepsTheOrderOfShardsWithoutNumbers) {
  test::write_bytes(folder_ / "z", "zz");
  test::write_bytes(folder_ / "a", "aa");
  const Weights weights = read_tfjs(with(model(weight("w", "[4]", "uint8"), R"(["z","a"])")));
  EXPECT_EQ(weights.tensors.at("w").bytes, (std::vector<std::uint8_t>{'z', 'z', 'a', 'a'}));
}

TEST_F(TfjsFolder, KeepsTheOrderOfGroups) {
  test::write_bytes(folder_ / "group1-shard1of1.bin", "1");
  test::write_bytes(folder_ / "group2-shard1of1.bin", "2");
  const auto group = [](const std::string& n) {
    return R"({"paths":["group)" + n + R"(-shard1of1.bin"],"weights":[)" +
           weight("w" + n, "[1]", "uint8") + "]}";
  };
  const Weights weights =
      read_tfjs(with(R"({"weightsManifest":[)" + group("2") + "," + group("1") + "]}"));
  EXPECT_EQ(weights.tensors.at("w1").bytes, std::vector<std::uint8_t>{'1'});
  EXPECT_EQ(weights.tensors.at("w2").bytes, std::vector<std::uint8_t>{'2'});
}

TEST_F(TfjsFolder, RefusesShardsOutsideOfIt) {
  for (const std::string path :
       {"../secret", "a/../../secret", "/etc/passwd", "", "..", "a\\u0000b"}) {
    with(model(weight("w", "[1]", "uint8"), "[\"" + path + "\"]"));
    expect_refused([&] { read_tfjs(path_); }, "not in its folder");
    expect_refused([&] { read_tfjs(path_); }, path_ + ": ");
  }
}

TEST_F(TfjsFolder, NamesTheShardThatIsMissing) {
  with(model(weight("w", "[1]", "uint8"), R"(["group1-shard1of1.bin"])"));
  expect_refused([&] { read_tfjs(path_); }, folder_ / "group1-shard1of1.bin");
}

TEST_F(TfjsFolder, DoesNotReadAShardThatIsListedManyTimes) {
  test::write_bytes(folder_ / "s", std::string(1000, 's'));
  std::string paths = "\"s\"";
  for (int k = 0; k < 10000; ++k) paths += ",\"s\"";
  with(model(weight("w", "[1000]", "uint8"), "[" + paths + "]"));
  expect_refused([&] { read_tfjs(path_); }, "2000 bytes where its weights need 1000");
}

TEST(ReadWeights, SaysWhatItKnowsWhereItKnowsNothing) {
  const test::TemporaryFolder folder;
  test::write_bytes(folder / "weights.h5", "\x89HDF\r\n\x1a\n and more of it");
  expect_refused([&] { read_weights(folder / "weights.h5"); }, "safetensors, .pth of torch.save");
  test::write_bytes(folder / "empty", "");
  expect_refused([&] { read_weights(folder / "empty"); }, "has an unknown format");
  expect_refused([&] { read_weights(folder / "missing"); }, "cannot be opened");
}

}  // namespace
}  // namespace diml
