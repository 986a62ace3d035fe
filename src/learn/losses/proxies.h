#pragma once

#include <string>

#include "diml/learn/loss.h"

namespace diml::learn {

// The initialisation of proxies. Their length matters for the learning rate: vectors that are
// compared as unit vectors rotate faster when they are short.
enum class ProxyStart : std::uint8_t {
  unit,     // normal, variance 1 / D: length 1
  uniform,  // within 1 / sqrt(D): length 0.58; Softmax and ArcFace in the authors' code
  eighth    // normal / 8: length 1.41 at D = 128; ProxyNCA in the authors' code
};

// Learnt vectors that represent classes; grids of them where the measure uses cells. The mean over
// the cells is the ordinary proxy; its initial value does not depend on the number of cells.
class Proxies {
 public:
  // count: one or several per class.
  Proxies(std::string name, std::int64_t count, const LossContext& context, double learning_rate,
          ProxyStart start = ProxyStart::unit);

  Grids grids() const;
  LossParameter parameter() const { return {name_, value_, learning_rate_}; }

 private:
  std::string name_;
  torch::Tensor value_;  // [count, max(1, cells), D]
  bool has_cells_;
  double learning_rate_;
};

// Cross entropy of the classes, the mean over the batch.
torch::Tensor cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels);

}  // namespace diml::learn
