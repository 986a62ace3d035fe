#pragma once

#include <torch/torch.h>

#include "weights/weights.h"

namespace diml::learn {

// Between our arrays and torch's: copies, on the CPU.
torch::Tensor to_torch(const Tensor& tensor);
Tensor from_torch(const torch::Tensor& tensor);

}  // namespace diml::learn
