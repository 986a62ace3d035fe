#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace diml {

enum class TensorType : std::uint8_t { float32, float16, bfloat16, float64, int64, int32, uint8 };
std::size_t size_of(TensorType type);
const char* name_of(TensorType type);

// An array of a trained model, in C order, little-endian.
struct Tensor {
  TensorType type = TensorType::float32;
  std::vector<std::size_t> shape;
  std::vector<std::uint8_t> bytes;  // [count()] elements of `type`

  std::size_t count() const;
  std::vector<float> floats() const;  // widened or rounded; throws for integer types
};
Tensor make_tensor(std::vector<std::size_t> shape, std::span<const float> values);

// The arrays of a model by name, and what is known about them.
struct Weights {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Each form from bytes in memory, and from a file; errors of the latter begin with its name.
// Anything that contradicts itself (offsets, lengths, shapes) is refused before it is believed.

Weights parse_safetensors(std::span<const std::uint8_t> bytes);
Weights read_safetensors(const std::string& path);
void write_safetensors(const std::string& path, const Weights& weights);

// A state dictionary written by torch.save in zip form. The pickle inside is read as data: nothing
// in it is ever executed, and whatever is not a plain container or a tensor is refused by name.
// Nested dictionaries become names with dots.
Weights parse_pth(std::span<const std::uint8_t> bytes);
Weights read_pth(const std::string& path);

// A TensorFlow.js layers model: model.json and the shards it lists. Names and layouts stay as they
// are there. shards: all of them, joined in the manifest's order.
Weights parse_tfjs(std::span<const std::uint8_t> model_json, std::span<const std::uint8_t> shards);
Weights read_tfjs(const std::string& model_json_path);

// Any of them, told by content; a folder is looked through for model.json.
Weights read_weights(const std::string& path);

}  // namespace diml
