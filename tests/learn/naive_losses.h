#pragma once

#include <string>
#include <utility>
#include <vector>

#include "naive_measure.h"

namespace diml::learn::test {

// What a loss is computed from, in plain numbers.
struct NaiveInput {
  std::vector<std::size_t> labels;
  std::size_t classes = 0;
  std::vector<double> norms;
  Matrix within;                                               // batch against batch
  Matrix against;                                              // batch against proxies
  std::vector<std::pair<std::size_t, std::size_t>> positives;  // as mined
  std::vector<std::pair<std::size_t, std::size_t>> negatives;
  std::vector<std::size_t> second_negatives;       // of the triplets in the order of triplets()
  std::vector<double> beta;                        // of margin
  std::vector<std::vector<double>> proxy_globals;  // unit
  Matrix frozen;                                   // `within`, where a loss makes weights of it

  struct Triplet {
    std::size_t a, p, n;
  };
  std::vector<Triplet> triplets() const;
};

struct NaiveLoss {
  std::string name;
  Local what;           // of pairs
  std::size_t proxies;  // per class; 0 for none
  double (*value)(const NaiveInput& input);
};

// Every loss with the method's parameters, written from its formula in plain loops. softtriple has
// kCenters centres.
constexpr std::size_t kCenters = 3;
const std::vector<NaiveLoss>& naive_losses();

}  // namespace diml::learn::test
