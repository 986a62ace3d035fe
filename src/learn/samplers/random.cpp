#include <numeric>

#include "samplers.h"

namespace diml::learn {
namespace {

constexpr std::uint64_t kShuffle = 0x73687566;

class RandomSampler final : public Sampler {
 public:
  RandomSampler(const SamplerParams& params, std::size_t images)
      : params_(params), images_(images) {}

  std::vector<std::vector<std::size_t>> epoch(std::uint64_t epoch) const override {
    std::vector<std::size_t> order(images_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    Random random(mixed_seed(params_.seed, kShuffle, epoch));
    draw_to_front(order, order.size(), random);
    std::vector<std::vector<std::size_t>> batches;
    for (std::size_t start = 0; start + params_.batch <= images_; start += params_.batch) {
      const auto from = order.begin() + static_cast<std::ptrdiff_t>(start);
      batches.emplace_back(from, from + static_cast<std::ptrdiff_t>(params_.batch));
    }
    return batches;
  }

 private:
  SamplerParams params_;
  std::size_t images_;
};

}  // namespace

std::unique_ptr<Sampler> make_random_sampler(const SamplerParams& params,
                                             std::span<const std::int64_t> labels) {
  return std::make_unique<RandomSampler>(params, labels.size());
}

}  // namespace diml::learn
