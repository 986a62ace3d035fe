#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "base/input_file.h"
#include "base/npy.h"
#include "checked.h"
#include "diml/error.h"
#include "json_text.h"

// model.json lists groups of weights; the concatenated bytes of a group are cut into shards, not
// necessarily at the end of a weight.

namespace diml {
namespace {

using nlohmann::json;
using weights::Bytes;
using weights::shown;

constexpr int kDeepestModel = 64;  // layers hold layers
constexpr std::size_t kMostBytes = std::size_t{1} << 48;

struct Manifest {
  std::vector<std::vector<std::string>> paths;          // of the shards, by group
  std::vector<std::pair<std::string, Tensor>> weights;  // without their bytes
};

TensorType type_called(const std::string& dtype, const std::string& what) {
  for (const TensorType type : {TensorType::float32, TensorType::int32, TensorType::uint8}) {
    if (dtype == name_of(type)) return type;
  }
  throw Error(ErrorKind::unsupported,
              what + " has type " + shown(dtype) + ": float32, int32 and uint8 are read");
}

std::pair<std::string, Tensor> weight_of(const json& found) {
  std::string name = weights::text_member(found, "name", "a weight");
  const std::string what = "weight " + shown(name);
  if (found.contains("quantization")) {
    throw Error(ErrorKind::unsupported,
                what + " is quantised: convert the model again without quantisation");
  }
  Tensor tensor;
  tensor.type = type_called(weights::text_member(found, "dtype", what), what);
  tensor.shape = weights::sizes_member(found, "shape", what);
  return {std::move(name), std::move(tensor)};
}

const json& list_member(const json& object, const char* key, const char* of) {
  const std::string what = of;  // named: otherwise gcc warns of a dangling reference
  const json& list = weights::member(object, key, what);
  if (!list.is_array())
    throw Error(ErrorKind::damaged, what + " has a " + key + " that is not a list");
  return list;
}

Manifest manifest_of(Bytes model_json) {
  const json model = weights::parse_json(model_json, kDeepestModel, "model.json");
  if (!model.is_object() || !model.contains("weightsManifest")) {
    throw Error("has no weightsManifest: it is not a TensorFlow.js model");
  }
  Manifest manifest;
  for (const json& group : list_member(model, "weightsManifest", "model.json")) {
    std::vector<std::string>& paths = manifest.paths.emplace_back();
    for (const json& path : list_member(group, "paths", "a group of weights")) {
      if (!path.is_string())
        throw Error(ErrorKind::damaged, "has a path of a shard that is not text");
      paths.push_back(path.get<std::string>());
    }
    for (const json& weight : list_member(group, "weights", "a group of weights")) {
      manifest.weights.push_back(weight_of(weight));
    }
  }
  return manifest;
}

// N of "group1-shardNof25.bin"; 0 where there is none.
unsigned shard_number(const std::string& path) {
  constexpr std::string_view kShard = "shard";
  const std::size_t found = path.rfind(kShard);
  if (found == std::string::npos) return 0;
  const char* end = path.data() + path.size();
  unsigned number = 0;
  const auto [behind, problem] = std::from_chars(path.data() + found + kShard.size(), end, number);
  const bool whole = problem == std::errc() && std::string_view(behind, end).starts_with("of");
  return whole ? number : 0;
}

// Some tools list shards by name, 10 before 2; the data is in the order of the numbers.
void put_in_order(std::vector<std::string>& paths) {
  const bool numbered = std::all_of(paths.begin(), paths.end(),
                                    [](const std::string& path) { return shard_number(path) > 0; });
  if (!numbered) return;
  std::stable_sort(paths.begin(), paths.end(), [](const std::string& x, const std::string& y) {
    return shard_number(x) < shard_number(y);
  });
}

// Paths of shards must stay inside the model's folder.
void expect_inside(const std::string& path) {
  const std::filesystem::path parts(path);
  if (path.empty() || path.find('\0') != std::string::npos || parts.is_absolute() ||
      std::find(parts.begin(), parts.end(), "..") != parts.end()) {
    throw Error("lists the shard \"" + shown(path) + "\", which is not in its folder");
  }
}

std::size_t bytes_needed(const Manifest& manifest) {
  std::size_t sum = 0;
  for (const auto& [name, tensor] : manifest.weights) {
    sum += weights::bytes_needed(tensor.shape, tensor.type);
    if (sum > kMostBytes) throw Error(ErrorKind::damaged, "has weights larger than any memory");
  }
  return sum;
}

[[noreturn]] void fail_size(std::size_t found, std::size_t needed) {
  throw Error(ErrorKind::damaged, "its shards have " + std::to_string(found) +
                                      " bytes where its weights need " + std::to_string(needed) +
                                      ": fetch the shards again");
}

Weights cut(Manifest&& manifest, Bytes shards) {
  const std::size_t needed = bytes_needed(manifest);
  if (shards.size() != needed) fail_size(shards.size(), needed);
  Weights result;
  for (auto& [name, tensor] : manifest.weights) {
    const Bytes bytes = shards.first(weights::bytes_needed(tensor.shape, tensor.type));
    tensor.bytes.assign(bytes.begin(), bytes.end());
    shards = shards.subspan(bytes.size());
    weights::add(result, std::move(name), std::move(tensor));
  }
  return result;
}

}  // namespace

Weights parse_tfjs(std::span<const std::uint8_t> model_json, std::span<const std::uint8_t> shards) {
  return cut(manifest_of(model_json), shards);
}

Weights read_tfjs(const std::string& model_json_path) {
  const std::vector<std::uint8_t> model_json = read_file(model_json_path);
  const std::filesystem::path folder = std::filesystem::path(model_json_path).parent_path();
  try {
    Manifest manifest = manifest_of(model_json);
    for (std::vector<std::string>& group : manifest.paths) {
      std::for_each(group.begin(), group.end(), expect_inside);
      put_in_order(group);
    }
    const std::size_t needed = bytes_needed(manifest);
    std::vector<std::uint8_t> shards;
    for (const std::vector<std::string>& group : manifest.paths) {
      for (const std::string& path : group) {
        const std::vector<std::uint8_t> shard = read_file((folder / path).string());
        shards.insert(shards.end(), shard.begin(), shard.end());
        if (shards.size() > needed) fail_size(shards.size(), needed);  // stops early if too many
      }
    }
    return cut(std::move(manifest), shards);
  } catch (const Error& error) {
    throw with_context(error, model_json_path + ": ");
  }
}

}  // namespace diml
