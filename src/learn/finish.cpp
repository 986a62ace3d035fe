#include "finish.h"

#include <cstdint>
#include <optional>

#if DIML_TORCH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "cuda/finish.h"
#endif

namespace diml::learn {
namespace {

torch::Tensor per_channel(const torch::Tensor& bias) { return bias.view({1, -1, 1, 1}); }

#if DIML_TORCH_CUDA
bool side_by_side(const torch::Tensor& map) {
  return map.is_contiguous(torch::MemoryFormat::ChannelsLast);
}

// The shape of this map for the kernels; nullopt where they do not support it.
std::optional<kernels::Rows> shape_of(const torch::Tensor& map) {
  const bool half = map.scalar_type() == torch::kBFloat16;
  if (!map.is_cuda() || (!half && map.scalar_type() != torch::kFloat32) || !side_by_side(map)) {
    return {};
  }
  const kernels::Rows shape{static_cast<std::size_t>(map.size(0) * map.size(2) * map.size(3)),
                            static_cast<std::size_t>(map.size(1)),
                            half ? kernels::MapType::bfloat16 : kernels::MapType::float32};
  return kernels::can_finish(shape) ? std::optional(shape) : std::nullopt;
}

// Aligned so that the kernels can read whole vectors: a part of a longer array may begin anywhere.
torch::Tensor aligned(const torch::Tensor& bias) {
  const torch::Tensor row = bias.contiguous();
  return reinterpret_cast<std::uintptr_t>(row.data_ptr()) % 16 == 0 ? row : row.clone();
}

void* stream_of(const torch::Tensor& map) {
  return c10::cuda::getCurrentCUDAStream(map.device().index()).stream();
}
#endif

struct Backward {
  torch::Tensor before;  // the gradient before the finish
  torch::Tensor bias;
};

// gradient: of a finished map.
Backward finish_backward(const torch::Tensor& gradient, const torch::Tensor& map) {
#if DIML_TORCH_CUDA
  if (const auto shape = shape_of(map)) {
    const c10::cuda::CUDAGuard guard(map.device());
    const torch::Tensor given = gradient.contiguous(torch::MemoryFormat::ChannelsLast);
    Backward result{torch::empty_like(map), {}};
    const torch::Tensor parts =
        torch::empty({static_cast<std::int64_t>(kernels::parts_of(*shape)), map.size(1)},
                     map.options().dtype(torch::kFloat32));
    kernels::finish_backward(*shape, given.data_ptr(), map.data_ptr(), result.before.data_ptr(),
                             parts.data_ptr<float>(), stream_of(map));
    result.bias = parts.sum(0).to(map.scalar_type());
    return result;
  }
#endif
  const torch::Tensor before = torch::threshold_backward(gradient, map, 0);
  return {before, before.sum({0, 2, 3})};
}

// shortcut: an empty array for none; LibTorch accepts no undefined ones here.
class FinishedConvolution : public torch::autograd::Function<FinishedConvolution> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& input, const torch::Tensor& kernel,
                               const torch::Tensor& bias, const torch::Tensor& shortcut,
                               std::int64_t stride, std::int64_t padding) {
    torch::Tensor map = torch::conv2d(input, kernel, {}, stride, padding);
    const bool added = shortcut.numel() > 0;
    finish_(map, bias, added ? shortcut : torch::Tensor());
    context->save_for_backward({input, kernel, map});
    context->saved_data["stride"] = stride;
    context->saved_data["padding"] = padding;
    context->saved_data["of_input"] = input.requires_grad();  // pixels need no gradient
    context->saved_data["of_shortcut"] = added;
    return map;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const std::int64_t stride = context->saved_data["stride"].toInt();
    const std::int64_t padding = context->saved_data["padding"].toInt();
    const Backward finish = finish_backward(gradients[0], saved[2]);
    const auto [input, kernel, none] = torch::convolution_backward(
        finish.before, saved[0], saved[1], at::OptionalIntArrayRef(), {stride, stride},
        {padding, padding}, {1, 1}, /*transposed=*/false, {0, 0}, /*groups=*/1,
        {context->saved_data["of_input"].toBool(), true, false});
    const bool shortcut = context->saved_data["of_shortcut"].toBool();
    return {input, kernel, finish.bias, shortcut ? finish.before : torch::Tensor(), {}, {}};
  }
};

}  // namespace

void finish_(torch::Tensor& map, const torch::Tensor& bias, const torch::Tensor& shortcut) {
#if DIML_TORCH_CUDA
  const bool shortcut_fits = !shortcut.defined() || (side_by_side(shortcut) &&
                                                     shortcut.scalar_type() == map.scalar_type());
  if (const auto shape = shape_of(map); shape && shortcut_fits) {
    const c10::cuda::CUDAGuard guard(map.device());
    kernels::finish(*shape, map.data_ptr(), aligned(bias).data_ptr(),
                    shortcut.defined() ? shortcut.data_ptr() : nullptr, stream_of(map));
    return;
  }
#endif
  map.add_(per_channel(bias));
  if (shortcut.defined()) map.add_(shortcut);
  map.relu_();
}

torch::Tensor finished_convolution(const torch::Tensor& input, const torch::Tensor& kernel,
                                   const torch::Tensor& bias, const torch::Tensor& shortcut,
                                   std::int64_t stride, std::int64_t padding) {
  return FinishedConvolution::apply(
      input, kernel, bias, shortcut.defined() ? shortcut : torch::empty({0}), stride, padding);
}

}  // namespace diml::learn
