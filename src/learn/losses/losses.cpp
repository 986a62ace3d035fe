#include "diml/learn/loss.h"

#include "../numbers.h"

namespace diml::learn {

// One file for each. A new one is a name here and a row below.
// numbers: all of the row's; miner: null where the row has none.
using MakeLoss = std::unique_ptr<Loss>(const Numbers& numbers, std::unique_ptr<Miner> miner,
                                       const LossContext& context);
MakeLoss make_angular, make_arcface, make_circle, make_contrastive, make_cosface, make_genlifted,
    make_histogram, make_margin, make_ms, make_npair, make_proxyanchor, make_proxynca,
    make_quadruplet, make_snr, make_softmax, make_softtriple, make_supcon, make_triplet;

const std::vector<LossKind>& loss_kinds() {
  // Numbers: the method, section 6; of circle, cosface, softtriple and supcon their papers'.
  // Epsilon of ms is a number of its miner, multi_similarity.
  static const std::vector<LossKind> kinds = {
      {"angular",
       "N-Pair and the angle at the negative, Wang et al. 2017",
       "npair",
       {{"alpha", 45.0}, {"weight", 2.0}, {"l2", 0.005}},
       make_angular},
      {"arcface",
       "cross entropy of k cos(theta + margin), Deng et al. 2019",
       "",
       {{"scale", 16.0}, {"margin", 0.5}, {"class_lr", 5e-4}},
       make_arcface},
      {"circle",
       "pairs weighted by how far they are from their optimum, Sun et al. 2020",
       "all",
       {{"margin", 0.4}, {"gamma", 80.0}},
       make_circle},
      {"contrastive",
       "positives together, negatives beyond a margin, Hadsell et al. 2006",
       "distance",
       {{"positive_margin", 0.0}, {"negative_margin", 1.0}},
       make_contrastive},
      {"cosface",
       "cross entropy of k (cos(theta) - margin), Wang et al. 2018",
       "",
       {{"scale", 64.0}, {"margin", 0.35}, {"class_lr", 5e-4}},
       make_cosface},
      {"genlifted",
       "all positives against all negatives of an anchor, Hermans et al. 2017",
       "all",
       {{"margin", 1.0}, {"l2", 0.005}},
       make_genlifted},
      {"histogram",
       "how often a negative is more similar than a positive, Ustinova and Lempitsky 2016",
       "",
       {{"bins", 65.0}},
       make_histogram},
      {"margin",
       "a learnt boundary per class between near and far, Wu et al. 2017",
       "distance",
       {{"margin", 0.2}, {"beta", 1.2}, {"beta_lr", 5e-4}},
       make_margin},
      {"ms",
       "pairs weighted by three kinds of similarity, Wang et al. 2019",
       "multi_similarity",
       {{"alpha", 2.0}, {"beta", 40.0}, {"lambda", 0.5}},
       make_ms},
      {"npair",
       "one positive against a negative of every other class, Sohn 2016",
       "npair",
       {{"l2", 0.005}},
       make_npair},
      {"proxyanchor",
       "every proxy against the batch, Kim et al. 2020",
       "",
       {{"alpha", 32.0}, {"margin", 0.1}, {"proxy_lr_factor", 100.0}},
       make_proxyanchor},
      {"proxynca",
       "every image against the proxies, Movshovitz-Attias et al. 2017",
       "",
       {{"scale", 3.0}, {"proxy_lr_factor", 50.0}},
       make_proxynca},
      {"quadruplet",
       "triplets, and negatives apart from each other, Chen et al. 2017",
       "distance",
       {{"margin", 0.2}, {"second_margin", 0.2}},
       make_quadruplet},
      {"snr",
       "triplets by noise against signal, Yuan et al. 2019",
       "distance",
       {{"margin", 0.2}},
       make_snr},
      {"softmax",
       "cross entropy of normalised classes, Zhai and Wu 2019",
       "",
       {{"temperature", 0.05}, {"class_lr", 1e-5}},
       make_softmax},
      {"softtriple",
       "several centres per class, Qian et al. 2019",
       "",
       {{"centers", 10.0},
        {"lambda", 20.0},
        {"gamma", 0.1},
        {"margin", 0.01},
        {"tau", 0.2},
        {"proxy_lr_factor", 100.0}},
       make_softtriple},
      {"supcon",
       "each positive against the whole batch, Khosla et al. 2020",
       "",
       {{"temperature", 0.1}},
       make_supcon},
      {"triplet",
       "nearer to the positive than to the negative by a margin, Schroff et al. 2015",
       "distance",
       {{"margin", 0.2}},
       make_triplet},
  };
  return kinds;
}

std::unique_ptr<Loss> make_loss(const LossParams& params, const LossContext& context) {
  const LossKind& kind = kind_named(loss_kinds(), params.name, "loss");
  const std::string owner = "the loss " + params.name;
  const Numbers numbers = with_defaults(params.numbers, kind.defaults, owner);
  if (context.classes < 2) {
    throw Error(owner + " needs at least 2 classes, not " + std::to_string(context.classes) +
                ": train on more");
  }
  const std::string default_miner = kind.miner;
  if (default_miner.empty()) {
    if (!params.miner.empty() || !params.miner_numbers.empty()) {
      throw Error(owner + " uses the whole batch and takes no miner: leave the miner out");
    }
    return kind.make(numbers, nullptr, context);
  }
  return kind.make(
      numbers,
      make_miner(params.miner.empty() ? default_miner : params.miner, params.miner_numbers),
      context);
}

}  // namespace diml::learn
