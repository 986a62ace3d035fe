#include "../numbers.h"
#include "diml/learn/loss.h"
#include "pairs.h"
#include "proxies.h"

namespace diml::learn {
namespace {

constexpr double kNoSquaredDistance = 1e-10;

// Qian et al. 2019: several centres per class, and a term that merges those that are not needed.
class SoftTriple final : public Loss {
 public:
  SoftTriple(const Numbers& numbers, const LossContext& context)
      : classes_(context.classes),
        per_class_(static_cast<std::int64_t>(
            number_between(numbers, "centers", 1.0, 1000.0, "the loss softtriple"))),
        lambda_(numbers.at("lambda")),
        gamma_(number_between(numbers, "gamma", 1e-4, 1e4, "the loss softtriple")),
        margin_(numbers.at("margin")),
        tau_(numbers.at("tau")),
        centers_("centers", classes_ * per_class_, context,
                 numbers.at("proxy_lr_factor") * context.learning_rate) {}

  torch::Tensor operator()(const LossInput& input) override {
    const Grids centers = centers_.grids();
    const torch::Tensor labels = labels_of(input);
    const torch::Tensor each = input.measure.similarity(input.batch, centers)
                                   .view({input.batch.size(), classes_, per_class_});
    const torch::Tensor similarity = (torch::softmax(each / gamma_, 2) * each).sum(2);
    const torch::Tensor logits = lambda_ * (similarity - margin_ * own_class(labels, classes_));
    return cross_entropy(logits, labels) + tau_ * spread_of(centers);
  }
  std::vector<LossParameter> parameters() override { return {centers_.parameter()}; }

 private:
  // Mean over the classes of half the mean distance of two centres of the class. Of the globals,
  // for every measure: centres are not matched with each other.
  torch::Tensor spread_of(const Grids& centers) const {
    if (per_class_ < 2) return torch::zeros({}, centers.globals.options());
    const torch::Tensor vectors = centers.globals.view({classes_, per_class_, centers.dim()});
    const torch::Tensor squared = 2.0 - 2.0 * torch::matmul(vectors, vectors.transpose(1, 2));
    const torch::Tensor distance = squared.clamp_min(kNoSquaredDistance).sqrt();
    const auto pairs = static_cast<double>(classes_ * per_class_ * (per_class_ - 1));
    return distance.triu(1).sum() / pairs;
  }

  std::int64_t classes_;
  std::int64_t per_class_;
  double lambda_;
  double gamma_;
  double margin_;
  double tau_;
  Proxies centers_;
};

}  // namespace

std::unique_ptr<Loss> make_softtriple(const Numbers& numbers, std::unique_ptr<Miner> /*miner*/,
                                      const LossContext& context) {
  return std::make_unique<SoftTriple>(numbers, context);
}

}  // namespace diml::learn
