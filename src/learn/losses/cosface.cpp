#include "diml/learn/loss.h"
#include "pairs.h"
#include "proxies.h"

namespace diml::learn {
namespace {

class CosFace final : public Loss {
 public:
  CosFace(const Numbers& numbers, const LossContext& context)
      : scale_(numbers.at("scale")),
        margin_(numbers.at("margin")),
        classes_("class_vectors", context.classes, context, numbers.at("class_lr")) {}

  torch::Tensor operator()(const LossInput& input) override {
    const torch::Tensor labels = labels_of(input);
    const torch::Tensor cosine = input.measure.similarity(input.batch, classes_.grids());
    return cross_entropy((cosine - margin_ * own_class(labels, cosine.size(1))) * scale_, labels);
  }
  std::vector<LossParameter> parameters() override { return {classes_.parameter()}; }

 private:
  double scale_;
  double margin_;
  Proxies classes_;
};

}  // namespace

std::unique_ptr<Loss> make_cosface(const Numbers& numbers, std::unique_ptr<Miner> /*miner*/,
                                   const LossContext& context) {
  return std::make_unique<CosFace>(numbers, context);
}

}  // namespace diml::learn
