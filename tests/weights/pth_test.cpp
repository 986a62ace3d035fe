#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "weights/raw_pth.h"
#include "weights/refusal.h"
#include "weights/weights.h"

namespace diml {
namespace {

using test::expect_refused;
using test::raw;
using test::zip;
using namespace test::pickle;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

Weights parse(const std::string& bytes) {
  return parse_pth({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
}

// An archive with one storage, the floats 0, 1, 2, 3.
std::string archive(const std::string& pickled) {
  std::string floats;
  for (const float value : {0.0f, 1.0f, 2.0f, 3.0f}) floats += raw(value);
  return zip({{"a/data.pkl", program(pickled)}, {"a/data/0", floats}});
}

std::string named(const std::string& value) { return dictionary(text("w") + value); }

void refuses(const std::string& pickled, const std::string& why) {
  expect_refused([&] { parse(archive(pickled)); }, why);
}

std::vector<float> floats_of(const Window& window) {
  return parse(archive(named(tensor(window)))).tensors.at("w").floats();
}

TEST(Pth, ReadsAnyWindowOnAStorage) {
  EXPECT_EQ(floats_of({{2, 2}, {2, 1}}), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(floats_of({{2, 2}, {1, 2}}), (std::vector<float>{0, 2, 1, 3}));
  EXPECT_EQ(floats_of({{2}, {2}, 1}), (std::vector<float>{1, 3}));
  EXPECT_EQ(floats_of({{}, {}, 3}), (std::vector<float>{3}));
  EXPECT_EQ(floats_of({{2, 1, 1}, {3, 77, 0}}), (std::vector<float>{0, 3}));
  EXPECT_EQ(floats_of({{0, 5}, {5, 1}}), std::vector<float>{});
  EXPECT_EQ(floats_of({{2, 2}, {0, 1}}), (std::vector<float>{0, 1, 0, 1}));
}

TEST(Pth, RefusesAWindowThatReachesBeyondItsStorage) {
  for (const Window& window :
       {Window{{2, 2}, {2, 1}, 1}, Window{{2}, {4}}, Window{{1}, {1}, 4}, Window{{}, {}, kHuge},
        Window{{2, 2}, {kHuge, kHuge}}, Window{{2}, {1}, kHuge}, Window{{3}, {kHuge}},
        Window{{2}, {-1}, 1}, Window{{-1}, {1}}, Window{{1}, {1}, -1}, Window{{2, 2}, {1}}}) {
    refuses(named(tensor(window)), "tensor w that is inconsistent");
  }
}

TEST(Pth, RefusesATensorLargerThanItsStorage) {
  refuses(named(tensor({{5}, {0}})), "larger than its stored data");
  refuses(named(tensor({{kHuge}, {0}})), "larger than any memory");
  refuses(named(tensor({{kHuge, kHuge, 0}, {0, 0, 0}})), "larger than any memory");
}

TEST(Pth, RefusesAStorageOfAnotherSizeThanTold) {
  for (const std::int64_t stored : {0, 3, 5}) {
    refuses(named(tensor({.shape = {1}, .strides = {1}, .stored = stored})), "16 bytes in data/0");
  }
  refuses(named(tensor({.shape = {1}, .strides = {1}, .stored = -4})), "invalid data.pkl");
  refuses(named(tensor({.shape = {1}, .strides = {1}, .key = "7"})), "no a/data/7 inside");
  refuses(named(tensor({.shape = {1}, .strides = {1}, .key = std::string(5000, 'x')})),
          "invalid data.pkl");
}

TEST(Pth, RefusesViewsThatWouldNeedArithmetic) {
  EXPECT_NO_THROW(floats_of({.shape = {1}, .strides = {1}, .more = "\x89}}"}));
  refuses(named(tensor(
              {.shape = {1}, .strides = {1}, .more = "\x89}" + dictionary(text("neg") + "\x88")})),
          "negated view");
}

TEST(Pth, NeverDoesWhatAPickleAsksFor) {
  refuses(global("os", "system") + tuple(text("true")) + "R", "asks for os.system:");
  refuses(text("os") + text("system") + "\x93" + tuple(text("true")) + "R", "asks for os.system:");
  refuses(global("builtins", "eval"), "asks for builtins.eval:");
  refuses(global("torch", "load"), "asks for torch.load:");
  refuses(global("torch", "FloatStorage\n.evil"), "");
  refuses(global("collections.OrderedDict", ""), "asks for collections.OrderedDict.:");
  refuses(global(std::string(5000, 'm'), "n"), "asks for mmm");
  // Even where the value would be dropped.
  refuses(dictionary(text("w") + tensor({{1}, {1}}) + text("x") + global("os", "getcwd")),
          "asks for os.getcwd:");
}

TEST(Pth, RefusesOpcodesThatTorchDoesNotWrite) {
  for (const char opcode : {'i', 'o', 'P', 'I', 'V', '\x82'}) {
    refuses(std::string(1, opcode), "uses opcode");
  }
}

TEST(Pth, RefusesCallsOfWhatCannotBeCalled) {
  const std::string one = tensor({{1}, {1}});
  const std::vector<std::string> pickles = {
      "N)R",
      "}}R",
      global("torch", "FloatStorage") + ")R",
      global("collections", "OrderedDict") + tuple("N") + "R",
      global("torch._utils", "_rebuild_parameter") + tuple("N") + "R",
      global("torch", "Size") + tuple(integer(3)) + "R",
      one + "}b"};
  for (const std::string& pickled : pickles) {
    refuses(pickled, "invalid data.pkl");
  }
  refuses(named(global("torch._utils", "_rebuild_tensor_v2") + ")R"), "is inconsistent");
}

TEST(Pth, RefusesAStackThatIsUsedBeyondItsEnd) {
  for (const char* pickled :
       {"",  "0",   "1",   "2", "a",     "s", "u",    "e", "t", "]e", "}(Nu", "(Na",
        "R", "]Ns", "NNs", "q", "h\x05", "(", "\x87", "b", "Q", "NQ", "(0"}) {
    EXPECT_THROW(parse(archive(pickled)), Error) << pickled;
  }
}

TEST(Pth, RefusesCirclesAndWhatGrowsOutOfAllProportion) {
  refuses("]q" + std::string(1, '\0') + "h" + std::string(1, '\0') + "a", "nested deeper than 64");
  std::string doubling = "}q" + std::string(1, '\0');  // each holds the previous one twice
  for (char k = 1; k < 50; ++k) {
    const std::string before = std::string("h") + static_cast<char>(k - 1);
    doubling += std::string("}q") + k + "(" + text("a") + before + text("b") + before + "u";
  }
  refuses(doubling, "more than 16-fold");
  std::string long_list = "(](";  // many lists without tensors
  for (int k = 0; k < 1000; ++k) long_list += "K\1";
  long_list += "eq" + std::string(1, '\0');
  for (int k = 0; k < 1000; ++k) long_list += "h" + std::string(1, '\0');
  refuses(long_list + "t", "more than 16-fold");
  // A few bytes, shared a thousand times, are allowed.
  std::string copies = tensor({{4}, {1}}) + "q" + std::string(1, '\0') + "0}(";
  for (int k = 0; k < 4000; ++k) copies += "M" + raw(static_cast<std::uint16_t>(k)) + "h" + '\0';
  EXPECT_EQ(parse(archive(copies + "u")).tensors.size(), 4000u);
}

TEST(Pth, RefusesToCopyOneStorageAgainAndAgain) {
  const std::string storage(1 << 20, '\0');
  std::string pickled =
      tensor({.shape = {1 << 18}, .strides = {1}, .stored = 1 << 18}) + "q" + '\0' + "0}(";
  for (int k = 0; k < 1000; ++k) pickled += "M" + raw(static_cast<std::uint16_t>(k)) + "h" + '\0';
  expect_refused(
      [&] {
        parse(zip({{"a/data.pkl", program(pickled + "u")}, {"a/data/0", storage}}));
      },
      "more than 16-fold");
}

TEST(Pth, NamesNestedTensorsWithDots) {
  const std::string one = tensor({{1}, {1}});
  const Weights weights = parse(archive(
      dictionary(text("model") + dictionary(text("a.b") + one + integer(3) + one) + text("list") +
                 tuple("N" + one + integer(5)) + text("epoch") + integer(7) + text("none") + "N")));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : weights.tensors) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"list.1", "model.3", "model.a.b"}));
}

TEST(Pth, RefusesNamesThatMeanTwoTensors) {
  const std::string one = tensor({{1}, {1}});
  refuses(dictionary(text("a.b") + one + text("a") + dictionary(text("b") + one)),
          "two tensors called a.b");
  refuses(dictionary("N" + one), "keys are neither text nor integers");
  refuses(dictionary(text(std::string(1001, 'x')) + one), "names of more than 1000 characters");
}

TEST(Pth, ReadsAnArchiveWithAComment) {
  const std::string bytes =
      zip({{"a/data.pkl", program(named(tensor({{0}, {1}})))}, {"a/data/0", std::string(16, '\0')}},
          "PK\5\6 is how such an archive ends");
  EXPECT_EQ(parse(bytes).tensors.size(), 1u);
}

TEST(Pth, RefusesArchivesOfOtherPrograms) {
  expect_refused([] { parse(zip({{"a.npy", "data"}})); }, "without data.pkl");
  expect_refused([] { parse(zip({{"x/a/data.pkl", "."}})); }, "without data.pkl");
  expect_refused([] { parse(zip({})); }, "without data.pkl");
  expect_refused([] { parse("PK\3\4 and nothing more of a zip archive"); }, "damaged zip archive");
  expect_refused([] { parse("Rar!"); }, "not a .pth file");
  expect_refused([] { parse(""); }, "is empty");
  expect_refused([] { parse(zip({{"a/data.pkl", "."}, {"a/data.pkl", "."}})); }, "damaged");
}

TEST(Pth, RefusesAnEncryptedArchive) {
  std::string bytes = archive(named(tensor({{1}, {1}})));
  bytes[bytes.find("PK\1\2") + 8] = 1;
  expect_refused([&] { parse(bytes); }, "encrypted");
}

TEST(Pth, NamesTheFileThatCannotBeRead) {
  expect_refused([] { read_pth("/no/such.pth"); }, "/no/such.pth: cannot be opened");
  expect_refused([] { read_pth("/tmp"); }, "/tmp: is not a regular file");
}

}  // namespace
}  // namespace diml
