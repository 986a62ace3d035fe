#include "samplers.h"

#include "../numbers.h"

namespace diml::learn {
namespace {

struct SamplerMaker {
  const char* name;
  std::unique_ptr<Sampler> (*make)(const SamplerParams& params,
                                   std::span<const std::int64_t> labels);
};
constexpr SamplerMaker kMakers[] = {
    {"m_per_class", make_m_per_class_sampler},
    {"random", make_random_sampler},
};

}  // namespace

const std::vector<SamplerKind>& sampler_kinds() {
  static const std::vector<SamplerKind> kinds = {
      {"m_per_class", "classes at random, per_class images of each"},
      {"random", "every image at most once an epoch, in random order"},
  };
  return kinds;
}

std::unique_ptr<Sampler> make_sampler(const SamplerParams& params,
                                      std::span<const std::int64_t> labels) {
  const SamplerKind& kind = kind_named(sampler_kinds(), params.name, "sampler");
  if (params.batch == 0 || params.shards == 0 || params.batch % params.shards != 0) {
    throw Error("a batch of " + std::to_string(params.batch) + " does not divide into " +
                std::to_string(params.shards) + " shards: make it a multiple");
  }
  if (labels.size() < params.batch) {
    throw Error("a batch of " + std::to_string(params.batch) + " is more than the " +
                std::to_string(labels.size()) + " training images: use a smaller batch");
  }
  for (const SamplerMaker& maker : kMakers) {
    if (std::string_view(maker.name) == kind.name) return maker.make(params, labels);
  }
  throw Error(ErrorKind::internal, "the sampler " + params.name + " cannot be made");
}

}  // namespace diml::learn
