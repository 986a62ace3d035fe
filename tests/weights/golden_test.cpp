// Against torch: files made by tools/make_weights_golden.py.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/input_file.h"
#include "base/npy.h"
#include "base/temporary_folder.h"
#include "weights/refusal.h"
#include "weights/weights.h"

namespace diml {
namespace {

using test::expect_refused;
using test::golden;

const std::vector<std::string>& readable() {
  static const std::vector<std::string> names = {"plain.pth",   "nested.pth",       "types.pth",
                                                 "strided.pth", "shared.pth",       "parameter.pth",
                                                 "little.pth",  "protocol4.pth",    "zip64.pth",
                                                 "tfjs",        "types.safetensors"};
  return names;
}

struct Expected {
  std::string name;
  std::string type;
  std::string shape;
  std::vector<double> values;
};

std::vector<Expected> expected_of(const std::string& name) {
  std::ifstream file(golden(name + ".txt"));
  std::vector<Expected> expected;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Expected& tensor = expected.emplace_back();
    words >> tensor.name >> tensor.type >> tensor.shape;
    for (std::string value; words >> value;) {
      tensor.values.push_back(std::strtod(value.c_str(), nullptr));
    }
  }
  return expected;
}

template <class T>
std::vector<double> integers(const Tensor& tensor) {
  std::vector<T> values(tensor.count());
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return {values.begin(), values.end()};
}

std::vector<double> values_of(const Tensor& tensor) {
  switch (tensor.type) {
    case TensorType::int64:
      return integers<std::int64_t>(tensor);
    case TensorType::int32:
      return integers<std::int32_t>(tensor);
    case TensorType::uint8:
      return integers<std::uint8_t>(tensor);
    case TensorType::float64:
      return integers<double>(tensor);
    default: {
      const std::vector<float> floats = tensor.floats();
      return {floats.begin(), floats.end()};
    }
  }
}

std::string shape_of(const Tensor& tensor) {
  std::string text;
  for (const std::size_t extent : tensor.shape) {
    if (!text.empty()) text += ',';
    text += std::to_string(extent);
  }
  return text.empty() ? "-" : text;
}

TEST(GoldenWeights, AreReadAsTorchReadsThem) {
  for (const std::string& name : readable()) {
    const Weights weights = read_weights(golden(name));
    const std::vector<Expected> expected = expected_of(name);
    ASSERT_FALSE(expected.empty()) << name;
    EXPECT_EQ(weights.tensors.size(), expected.size()) << name;
    for (const Expected& tensor : expected) {
      ASSERT_TRUE(weights.tensors.contains(tensor.name)) << name << ": " << tensor.name;
      const Tensor& read = weights.tensors.at(tensor.name);
      EXPECT_EQ(name_of(read.type), tensor.type) << name << ": " << tensor.name;
      EXPECT_EQ(shape_of(read), tensor.shape) << name << ": " << tensor.name;
      EXPECT_EQ(values_of(read), tensor.values) << name << ": " << tensor.name;
    }
  }
}

TEST(GoldenWeights, ComeBackTheSameThroughSafetensors) {
  const test::TemporaryFolder folder;
  for (const std::string& name : readable()) {
    const Weights weights = read_weights(golden(name));
    write_safetensors(folder / "again.safetensors", weights);
    const Weights again = read_weights(folder / "again.safetensors");
    EXPECT_EQ(again.metadata, weights.metadata) << name;
    ASSERT_EQ(again.tensors.size(), weights.tensors.size()) << name;
    for (const auto& [key, tensor] : weights.tensors) {
      const Tensor& other = again.tensors.at(key);
      EXPECT_EQ(other.type, tensor.type) << name << ": " << key;
      EXPECT_EQ(other.shape, tensor.shape) << name << ": " << key;
      EXPECT_EQ(other.bytes, tensor.bytes) << name << ": " << key;
    }
  }
}

TEST(GoldenWeights, ThatAreNoPlainWeightsAreRefusedWithTheReason) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"malicious.pth", "data.pkl asks for posix.system: only tensors and plain containers"},
      {"boolean.pth", "torch.BoolStorage"},
      {"expanded.pth", "tensor b of shape [1000]"},
      {"legacy.pth", "torch.save it again"},
      {"nameless.pth", "without a name"},
      {"tensorless.pth", "has no tensors"},
      {"big_endian.pth", "not little-endian"},
      {"compressed.pth", "compressed"},
      {"script.pt", "is a TorchScript program: it needs no import"},
      {"plain.pth.txt", "has an unknown format"},
  };
  for (const auto& [name, why] : cases) {
    expect_refused([&, name = name] { read_weights(golden(name)); }, golden(name) + ": ");
    expect_refused([&, name = name] { read_weights(golden(name)); }, why);
  }
}

// Parses the bytes of a golden file of any kind.
void parse(const std::string& name, std::span<const std::uint8_t> bytes) {
  const Weights weights =
      name.ends_with(".safetensors") ? parse_safetensors(bytes) : parse_pth(bytes);
  for (const auto& [key, tensor] : weights.tensors) {
    ASSERT_EQ(tensor.bytes.size(), tensor.count() * size_of(tensor.type)) << name << ": " << key;
  }
}

const std::vector<std::string>& single_files() {
  static const std::vector<std::string> names = {
      "plain.pth",     "nested.pth",    "types.pth",     "strided.pth",
      "shared.pth",    "parameter.pth", "protocol4.pth", "zip64.pth",
      "malicious.pth", "script.pt",     "legacy.pth",    "types.safetensors"};
  return names;
}

TEST(GoldenWeights, AreRefusedWhereverTheyAreCut) {
  for (const std::string& name : single_files()) {
    const std::vector<std::uint8_t> whole = read_file(golden(name));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      ASSERT_THROW(parse(name, std::span(whole).first(length)), Error) << name << " at " << length;
    }
  }
}

// Damage is reported or tolerated, never a crash; also run under the sanitizers.
TEST(GoldenWeights, SurviveEveryChangedByte) {
  for (const std::string& name : single_files()) {
    std::vector<std::uint8_t> damaged = read_file(golden(name));
    for (std::uint8_t& byte : damaged) {
      const std::uint8_t sound = byte;
      for (const int flipped : {0xff, 0x01, 0x80}) {
        byte = static_cast<std::uint8_t>(sound ^ flipped);
        try {
          parse(name, damaged);
        } catch (const Error&) {
        }
      }
      byte = sound;
    }
  }
}

}  // namespace
}  // namespace diml
