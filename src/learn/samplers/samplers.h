#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "learn/sampler.h"

namespace diml::learn {

// Puts `count` of the values, drawn without replacement, in front.
template <typename Value>
void draw_to_front(std::vector<Value>& values, std::size_t count, Random& random) {
  for (std::size_t k = 0; k < count; ++k) {
    std::swap(values[k], values[k + random.below(values.size() - k)]);
  }
}

// params is checked, except for the needs of the sampler's own rule.
std::unique_ptr<Sampler> make_m_per_class_sampler(const SamplerParams& params,
                                                  std::span<const std::int64_t> labels);
std::unique_ptr<Sampler> make_random_sampler(const SamplerParams& params,
                                             std::span<const std::int64_t> labels);

}  // namespace diml::learn
