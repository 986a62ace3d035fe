#pragma once

#include <torch/torch.h>

#include "diml/transport.h"

namespace diml::learn {

// Sinkhorn's iterations with a gradient through all of them. Each pair stops by its own marginal
// error: neither its plan nor its gradient depends on the pairs beside it.

// kernel: [P, R_x, R_y], logarithms; log_source: [P, R_x], log_target: [P, R_y]. Plans, [P, R_x,
// R_y].
torch::Tensor unrolled_sinkhorn(const torch::Tensor& kernel, const torch::Tensor& log_source,
                                const torch::Tensor& log_target, const TransportParams& params);

// Upper bound of the bytes of the forward and backward pass, with the products around them: where
// every pair needs all iterations.
double unrolled_bytes(std::int64_t pairs, std::int64_t rows, std::int64_t columns, int iterations,
                      std::size_t bytes_of_number);

}  // namespace diml::learn
