#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "base/float16.h"
#include "base/npy.h"
#include "checked.h"
#include "diml/error.h"
#include "weights/weights.h"

namespace diml {
namespace {

template <class T>
std::vector<float> widened(const std::vector<std::uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    if constexpr (std::is_same_v<T, double>) {
      values[i] = static_cast<float>(value);
    } else {
      values[i] = to_float(value);
    }
  }
  return values;
}

}  // namespace

std::size_t size_of(TensorType type) {
  switch (type) {
    case TensorType::float64:
    case TensorType::int64:
      return 8;
    case TensorType::float32:
    case TensorType::int32:
      return 4;
    case TensorType::float16:
    case TensorType::bfloat16:
      return 2;
    case TensorType::uint8:
      return 1;
  }
  return 0;
}

const char* name_of(TensorType type) {
  switch (type) {
    case TensorType::float32:
      return "float32";
    case TensorType::float16:
      return "float16";
    case TensorType::bfloat16:
      return "bfloat16";
    case TensorType::float64:
      return "float64";
    case TensorType::int64:
      return "int64";
    case TensorType::int32:
      return "int32";
    case TensorType::uint8:
      return "uint8";
  }
  return "unknown";
}

std::size_t Tensor::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::vector<float> Tensor::floats() const {
  if (bytes.size() != weights::bytes_needed(shape, type)) {
    throw Error("a tensor of shape " + shape_text(shape) + " has " + std::to_string(bytes.size()) +
                " bytes, which its shape contradicts");
  }
  switch (type) {
    case TensorType::float32:
      return widened<float>(bytes);
    case TensorType::float16:
      return widened<Float16>(bytes);
    case TensorType::bfloat16:
      return widened<BFloat16>(bytes);
    case TensorType::float64:
      return widened<double>(bytes);
    default:
      throw Error(std::string("a tensor of ") + name_of(type) + " is read as floats");
  }
}

Tensor make_tensor(std::vector<std::size_t> shape, std::span<const float> values) {
  Tensor tensor{TensorType::float32, std::move(shape), {}};
  if (values.size_bytes() != weights::bytes_needed(tensor.shape, tensor.type)) {
    throw Error("a tensor of shape " + shape_text(tensor.shape) + " is made of " +
                std::to_string(values.size()) + " values");
  }
  const auto* first = reinterpret_cast<const std::uint8_t*>(values.data());
  tensor.bytes.assign(first, first + values.size_bytes());
  return tensor;
}

}  // namespace diml
