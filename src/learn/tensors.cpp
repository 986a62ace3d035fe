#include "tensors.h"

#include <cstring>

#include "diml/error.h"

namespace diml::learn {
namespace {

struct TypePair {
  TensorType ours;
  torch::ScalarType theirs;
};
constexpr TypePair kTypes[] = {
    {TensorType::float32, torch::kFloat32},   {TensorType::float16, torch::kFloat16},
    {TensorType::bfloat16, torch::kBFloat16}, {TensorType::float64, torch::kFloat64},
    {TensorType::int64, torch::kInt64},       {TensorType::int32, torch::kInt32},
    {TensorType::uint8, torch::kUInt8},
};

}  // namespace

torch::Tensor to_torch(const Tensor& tensor) {
  const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  for (const TypePair& type : kTypes) {
    if (type.ours != tensor.type) continue;
    torch::Tensor made = torch::empty(shape, type.theirs);
    if (!tensor.bytes.empty())
      std::memcpy(made.data_ptr(), tensor.bytes.data(), tensor.bytes.size());
    return made;
  }
  throw Error(ErrorKind::unsupported, "an array has a type that torch does not support");
}

Tensor from_torch(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.detach().to(torch::kCPU).contiguous();
  for (const TypePair& type : kTypes) {
    if (type.theirs != plain.scalar_type()) continue;
    Tensor made{type.ours, {plain.sizes().begin(), plain.sizes().end()}, {}};
    made.bytes.resize(plain.nbytes());
    if (!made.bytes.empty()) std::memcpy(made.bytes.data(), plain.data_ptr(), made.bytes.size());
    return made;
  }
  throw Error(ErrorKind::unsupported, "a tensor has a type that weight files do not support");
}

}  // namespace diml::learn
