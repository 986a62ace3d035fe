#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace diml::learn {

struct SamplerParams {
  std::string name = "m_per_class";
  std::size_t batch = 112;    // paper, appendix A
  std::size_t per_class = 2;  // of m_per_class: 56 classes x 2 images
  std::uint64_t seed = 0;
  std::size_t shards = 1;  // processes that share a batch
};

// Which images make up the batches of an epoch. Deterministic, given the seed and the epoch: no
// state has to be saved to resume after an interruption.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // Indices of images, a whole number of full batches. The batch of shard s is [s * batch / shards,
  // (s + 1) * batch / shards) of each; shards have no class in common where the sampler has
  // classes.
  virtual std::vector<std::vector<std::size_t>> epoch(std::uint64_t epoch) const = 0;
};

struct SamplerKind {
  const char* name;
  const char* about;
};
const std::vector<SamplerKind>& sampler_kinds();

// labels: of the training images. An epoch has images / batch batches, rounded down.
std::unique_ptr<Sampler> make_sampler(const SamplerParams& params,
                                      std::span<const std::int64_t> labels);

}  // namespace diml::learn
