#include <map>

#include "diml/error.h"
#include "samplers.h"

namespace diml::learn {
namespace {

constexpr std::uint64_t kClasses = 0x636c6173;

class MPerClassSampler final : public Sampler {
 public:
  MPerClassSampler(const SamplerParams& params, std::vector<std::vector<std::size_t>> classes,
                   std::size_t images)
      : params_(params), classes_(std::move(classes)), images_(images) {}

  std::vector<std::vector<std::size_t>> epoch(std::uint64_t epoch) const override {
    Random random(mixed_seed(params_.seed, kClasses, epoch));
    std::vector<std::vector<std::size_t>> classes = classes_;
    std::vector<std::vector<std::size_t>> batches(images_ / params_.batch);
    for (std::vector<std::size_t>& batch : batches) {
      // No class twice in a batch, and shards are whole classes: they have none in common.
      draw_to_front(classes, params_.batch / params_.per_class, random);
      batch.reserve(params_.batch);
      for (std::size_t k = 0; batch.size() < params_.batch; ++k)
        add_images(classes[k], random, batch);
    }
    return batches;
  }

 private:
  void add_images(std::vector<std::size_t>& images, Random& random,
                  std::vector<std::size_t>& batch) const {
    if (images.size() < params_.per_class) {
      for (std::size_t k = 0; k < params_.per_class; ++k) {
        batch.push_back(images[random.below(images.size())]);
      }
      return;
    }
    draw_to_front(images, params_.per_class, random);
    batch.insert(batch.end(), images.begin(),
                 images.begin() + static_cast<std::ptrdiff_t>(params_.per_class));
  }

  SamplerParams params_;
  std::vector<std::vector<std::size_t>> classes_;
  std::size_t images_;
};

}  // namespace

std::unique_ptr<Sampler> make_m_per_class_sampler(const SamplerParams& params,
                                                  std::span<const std::int64_t> labels) {
  if (params.per_class == 0) throw Error("per_class is 0: take at least 1 image of a class");
  const std::size_t shard = params.batch / params.shards;
  if (shard % params.per_class != 0) {
    throw Error("a batch of " + std::to_string(shard) + (params.shards > 1 ? " per shard" : "") +
                " does not divide into classes of " + std::to_string(params.per_class) +
                " images: make it a multiple");
  }
  std::map<std::int64_t, std::vector<std::size_t>> by_label;
  for (std::size_t k = 0; k < labels.size(); ++k) by_label[labels[k]].push_back(k);
  const std::size_t needed = params.batch / params.per_class;
  if (by_label.size() < needed) {
    throw Error("a batch of " + std::to_string(needed) + " classes x " +
                std::to_string(params.per_class) + " images needs " + std::to_string(needed) +
                " classes, not " + std::to_string(by_label.size()) +
                ": use a smaller batch, or more images per class");
  }
  std::vector<std::vector<std::size_t>> classes;
  classes.reserve(by_label.size());
  for (auto& [label, images] : by_label) classes.push_back(std::move(images));
  return std::make_unique<MPerClassSampler>(params, std::move(classes), labels.size());
}

}  // namespace diml::learn
