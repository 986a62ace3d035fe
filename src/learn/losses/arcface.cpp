#include <cmath>

#include "diml/learn/loss.h"
#include "pairs.h"
#include "proxies.h"

namespace diml::learn {
namespace {

constexpr double kNoSquaredSine = 1e-10;

class ArcFace final : public Loss {
 public:
  ArcFace(const Numbers& numbers, const LossContext& context)
      : scale_(numbers.at("scale")),
        cos_margin_(std::cos(numbers.at("margin"))),
        sin_margin_(std::sin(numbers.at("margin"))),
        classes_("class_vectors", context.classes, context, numbers.at("class_lr"),
                 ProxyStart::uniform) {}

  torch::Tensor operator()(const LossInput& input) override {
    const torch::Tensor labels = labels_of(input);
    const torch::Tensor cosine = input.measure.similarity(input.batch, classes_.grids());
    // Without arc cosine: cos(theta + m) = cos(theta) cos(m) - sin(theta) sin(m). The sine's
    // gradient is infinite at 0 and pi.
    const torch::Tensor sine = (1.0 - cosine * cosine).clamp_min(kNoSquaredSine).sqrt();
    const torch::Tensor harder = cosine * cos_margin_ - sine * sin_margin_;
    const torch::Tensor logits =
        torch::where(own_class(labels, cosine.size(1)), harder, cosine) * scale_;
    return cross_entropy(logits, labels);
  }
  std::vector<LossParameter> parameters() override { return {classes_.parameter()}; }

 private:
  double scale_;
  double cos_margin_;
  double sin_margin_;
  Proxies classes_;
};

}  // namespace

std::unique_ptr<Loss> make_arcface(const Numbers& numbers, std::unique_ptr<Miner> /*miner*/,
                                   const LossContext& context) {
  return std::make_unique<ArcFace>(numbers, context);
}

}  // namespace diml::learn
