#include "../numbers.h"
#include "diml/learn/loss.h"
#include "pairs.h"
#include "proxies.h"

namespace diml::learn {
namespace {

class Softmax final : public Loss {
 public:
  Softmax(const Numbers& numbers, const LossContext& context)
      : temperature_(number_between(numbers, "temperature", 1e-4, 1e4, "the loss softmax")),
        classes_("class_vectors", context.classes, context, numbers.at("class_lr"),
                 ProxyStart::uniform) {}

  torch::Tensor operator()(const LossInput& input) override {
    const torch::Tensor similarity = input.measure.similarity(input.batch, classes_.grids());
    return cross_entropy(similarity / temperature_, labels_of(input));
  }
  std::vector<LossParameter> parameters() override { return {classes_.parameter()}; }

 private:
  double temperature_;
  Proxies classes_;
};

}  // namespace

std::unique_ptr<Loss> make_softmax(const Numbers& numbers, std::unique_ptr<Miner> /*miner*/,
                                   const LossContext& context) {
  return std::make_unique<Softmax>(numbers, context);
}

}  // namespace diml::learn
