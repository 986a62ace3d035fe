#include "naive_losses.h"

#include <algorithm>
#include <cmath>

namespace diml::learn::test {
namespace {

double hinge(double value) { return std::max(0.0, value); }

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

double mean_norm(const NaiveInput& in) { return mean(in.norms); }

double contrastive(const NaiveInput& in) {
  std::vector<double> near;
  std::vector<double> far;
  for (const auto& [a, p] : in.positives) near.push_back(hinge(in.within[a][p] - 0.0));
  for (const auto& [a, n] : in.negatives) far.push_back(hinge(1.0 - in.within[a][n]));
  return mean(near) + mean(far);
}

double triplet(const NaiveInput& in) {
  std::vector<double> terms;
  for (const auto& [a, p, n] : in.triplets()) {
    terms.push_back(hinge(std::pow(in.within[a][p], 2) - std::pow(in.within[a][n], 2) + 0.2));
  }
  return mean(terms);
}

// sum over the anchor's negatives of exp(f(n)).
template <typename F>
double sum_over_negatives(const NaiveInput& in, std::size_t a, F f) {
  double sum = 0.0;
  for (const auto& [anchor, n] : in.negatives) {
    if (anchor == a) sum += std::exp(f(n));
  }
  return sum;
}

double npair(const NaiveInput& in) {
  const auto product = [&](std::size_t x, std::size_t y) {
    return in.norms[x] * in.norms[y] * in.within[x][y];
  };
  std::vector<double> terms;
  for (const auto& pair : in.positives) {
    const std::size_t a = pair.first;
    const std::size_t p = pair.second;
    terms.push_back(std::log(1.0 + sum_over_negatives(in, a, [&](std::size_t n) {
                               return product(a, n) - product(a, p);
                             })));
  }
  return mean(terms) + 0.005 * mean_norm(in);
}

double angular(const NaiveInput& in) {
  const double squared_tangent = std::pow(std::tan(std::acos(-1.0) / 4.0), 2);
  std::vector<double> terms;
  for (const auto& pair : in.positives) {
    const std::size_t a = pair.first;
    const std::size_t p = pair.second;
    terms.push_back(std::log(1.0 + sum_over_negatives(in, a, [&](std::size_t n) {
                               return 4.0 * squared_tangent * (in.within[a][n] + in.within[p][n]) -
                                      2.0 * (1.0 + squared_tangent) * in.within[a][p];
                             })));
  }
  return npair(in) + 2.0 * mean(terms);
}

double genlifted(const NaiveInput& in) {
  const std::size_t size = in.labels.size();
  std::vector<double> terms;
  for (std::size_t a = 0; a < size; ++a) {
    double near = 0.0;
    double far = 0.0;
    for (std::size_t k = 0; k < size; ++k) {
      const double distance =
          std::sqrt(std::max(1e-30, std::pow(in.norms[a], 2) + std::pow(in.norms[k], 2) -
                                        2.0 * in.norms[a] * in.norms[k] * in.within[a][k]));
      if (in.labels[k] != in.labels[a]) {
        far += std::exp(1.0 - distance);
      } else if (k != a) {
        near += std::exp(distance);
      }
    }
    if (near > 0.0 && far > 0.0) terms.push_back(hinge(std::log(near) + std::log(far)));
  }
  return mean(terms) + 0.005 * mean_norm(in);
}

double proxynca(const NaiveInput& in) {
  std::vector<double> terms;
  for (std::size_t k = 0; k < in.labels.size(); ++k) {
    double others = 0.0;
    for (std::size_t c = 0; c < in.classes; ++c) {
      if (c != in.labels[k]) others += std::exp(-std::pow(3.0 * in.against[k][c], 2));
    }
    terms.push_back(std::pow(3.0 * in.against[k][in.labels[k]], 2) + std::log(others));
  }
  return mean(terms);
}

double histogram(const NaiveInput& in) {
  constexpr std::size_t kBins = 65;
  std::vector<double> near(kBins);
  std::vector<double> far(kBins);
  double near_count = 0.0;
  double far_count = 0.0;
  for (std::size_t i = 0; i < in.labels.size(); ++i) {
    for (std::size_t j = 0; j < in.labels.size(); ++j) {
      if (i == j) continue;
      const bool same = in.labels[i] == in.labels[j];
      const double position = (in.within[i][j] + 1.0) * 32.0;
      const auto lower = static_cast<std::size_t>(position);
      const double share = position - static_cast<double>(lower);
      std::vector<double>& bins = same ? near : far;
      bins[lower] += 1.0 - share;
      if (lower + 1 < kBins) bins[lower + 1] += share;
      (same ? near_count : far_count) += 1.0;
    }
  }
  double sum = 0.0;
  for (std::size_t b = 0; b < kBins; ++b) {
    for (std::size_t up_to = 0; up_to <= b; ++up_to) sum += far[b] * near[up_to];
  }
  return sum / (near_count * far_count);
}

double quadruplet(const NaiveInput& in) {
  std::vector<double> terms;
  std::size_t k = 0;
  for (const auto& [a, p, n] : in.triplets()) {
    const std::size_t second = in.second_negatives[k++];
    terms.push_back(hinge(in.within[a][p] - in.within[a][n] + 0.2) +
                    hinge(in.within[a][p] - in.within[n][second] + 0.2));
  }
  return mean(terms);
}

double snr(const NaiveInput& in) {
  std::vector<double> active;
  for (const auto& [a, p, n] : in.triplets()) {
    const double term = in.within[a][p] - in.within[a][n] + 0.2;
    if (term > 0.0) active.push_back(term);
  }
  return mean(active);
}

double margin(const NaiveInput& in) {
  std::vector<double> active;
  for (const auto& [a, p] : in.positives) {
    const double term = in.within[a][p] - in.beta[in.labels[a]] + 0.2;
    if (term > 0.0) active.push_back(term);
  }
  for (const auto& [a, n] : in.negatives) {
    const double term = in.beta[in.labels[a]] - in.within[a][n] + 0.2;
    if (term > 0.0) active.push_back(term);
  }
  return mean(active);
}

// logit(k, c): of image k and class c.
template <typename F>
double cross_entropy(const NaiveInput& in, F logit) {
  std::vector<double> terms;
  for (std::size_t k = 0; k < in.labels.size(); ++k) {
    double sum = 0.0;
    for (std::size_t c = 0; c < in.classes; ++c) sum += std::exp(logit(k, c));
    terms.push_back(std::log(sum) - logit(k, in.labels[k]));
  }
  return mean(terms);
}

double softmax(const NaiveInput& in) {
  return cross_entropy(in, [&](std::size_t k, std::size_t c) { return in.against[k][c] / 0.05; });
}

double arcface(const NaiveInput& in) {
  return cross_entropy(in, [&](std::size_t k, std::size_t c) {
    const double angle = std::acos(in.against[k][c]);
    return 16.0 * std::cos(c == in.labels[k] ? angle + 0.5 : angle);
  });
}

double cosface(const NaiveInput& in) {
  return cross_entropy(in, [&](std::size_t k, std::size_t c) {
    return 64.0 * (in.against[k][c] - (c == in.labels[k] ? 0.35 : 0.0));
  });
}

double softtriple(const NaiveInput& in) {
  const auto similarity = [&](std::size_t k, std::size_t c) {
    double weights = 0.0;
    double sum = 0.0;
    for (std::size_t m = c * kCenters; m < (c + 1) * kCenters; ++m) {
      const double weight = std::exp(in.against[k][m] / 0.1);
      weights += weight;
      sum += weight * in.against[k][m];
    }
    return sum / weights;
  };
  const double entropy = cross_entropy(in, [&](std::size_t k, std::size_t c) {
    return 20.0 * (similarity(k, c) - (c == in.labels[k] ? 0.01 : 0.0));
  });
  double apart = 0.0;
  for (std::size_t c = 0; c < in.classes; ++c) {
    for (std::size_t m = 0; m < kCenters; ++m) {
      for (std::size_t l = m + 1; l < kCenters; ++l) {
        apart += local(Local::distance, in.proxy_globals[c * kCenters + m],
                       in.proxy_globals[c * kCenters + l]);
      }
    }
  }
  return entropy + 0.2 * apart / static_cast<double>(in.classes * kCenters * (kCenters - 1));
}

double ms(const NaiveInput& in) {
  std::vector<double> terms;
  for (std::size_t a = 0; a < in.labels.size(); ++a) {
    double near = 0.0;
    bool any = false;
    for (const auto& [anchor, p] : in.positives) {
      if (anchor != a) continue;
      near += std::exp(-2.0 * (in.within[a][p] - 0.5));
      any = true;
    }
    const double far =
        sum_over_negatives(in, a, [&](std::size_t n) { return 40.0 * (in.within[a][n] - 0.5); });
    if (any || far > 0.0) {
      terms.push_back(std::log(1.0 + near) / 2.0 + std::log(1.0 + far) / 40.0);
    }
  }
  return mean(terms);
}

double proxyanchor(const NaiveInput& in) {
  std::vector<double> present;
  std::vector<double> every;
  for (std::size_t c = 0; c < in.classes; ++c) {
    double near = 0.0;
    double far = 0.0;
    for (std::size_t k = 0; k < in.labels.size(); ++k) {
      if (in.labels[k] == c) {
        near += std::exp(-32.0 * (in.against[k][c] - 0.1));
      } else {
        far += std::exp(32.0 * (in.against[k][c] + 0.1));
      }
    }
    if (near > 0.0) present.push_back(std::log(1.0 + near));
    every.push_back(std::log(1.0 + far));
  }
  return mean(present) + mean(every);
}

double circle(const NaiveInput& in) {
  std::vector<double> terms;
  for (std::size_t a = 0; a < in.labels.size(); ++a) {
    double near = 0.0;
    double far = 0.0;
    for (std::size_t k = 0; k < in.labels.size(); ++k) {
      if (in.labels[k] != in.labels[a]) {
        far += std::exp(80.0 * hinge(in.frozen[a][k] + 0.4) * (in.within[a][k] - 0.4));
      } else if (k != a) {
        near += std::exp(-80.0 * hinge(1.4 - in.frozen[a][k]) * (in.within[a][k] - 0.6));
      }
    }
    if (near > 0.0 && far > 0.0) terms.push_back(std::log(1.0 + near * far));
  }
  return mean(terms);
}

double supcon(const NaiveInput& in) {
  std::vector<double> terms;
  for (std::size_t a = 0; a < in.labels.size(); ++a) {
    double sum = 0.0;
    for (std::size_t k = 0; k < in.labels.size(); ++k) {
      if (k != a) sum += std::exp(in.within[a][k] / 0.1);
    }
    std::vector<double> logs;
    for (std::size_t k = 0; k < in.labels.size(); ++k) {
      if (k != a && in.labels[k] == in.labels[a]) {
        logs.push_back(std::log(std::exp(in.within[a][k] / 0.1) / sum));
      }
    }
    if (!logs.empty()) terms.push_back(-mean(logs));
  }
  return mean(terms);
}

}  // namespace

std::vector<NaiveInput::Triplet> NaiveInput::triplets() const {
  std::vector<Triplet> result;
  for (const auto& [a, p] : positives) {
    for (std::size_t n = 0; n < labels.size(); ++n) {
      if (std::find(negatives.begin(), negatives.end(), std::pair(a, n)) != negatives.end()) {
        result.push_back({a, p, n});
      }
    }
  }
  return result;
}

const std::vector<NaiveLoss>& naive_losses() {
  static const std::vector<NaiveLoss> losses = {
      {"angular", Local::similarity, 0, angular},
      {"arcface", Local::similarity, 1, arcface},
      {"circle", Local::similarity, 0, circle},
      {"contrastive", Local::distance, 0, contrastive},
      {"cosface", Local::similarity, 1, cosface},
      {"genlifted", Local::similarity, 0, genlifted},
      {"histogram", Local::similarity, 0, histogram},
      {"margin", Local::distance, 0, margin},
      {"ms", Local::similarity, 0, ms},
      {"npair", Local::similarity, 0, npair},
      {"proxyanchor", Local::similarity, 1, proxyanchor},
      {"proxynca", Local::distance, 1, proxynca},
      {"quadruplet", Local::distance, 0, quadruplet},
      {"snr", Local::noise, 0, snr},
      {"softmax", Local::similarity, 1, softmax},
      {"softtriple", Local::similarity, kCenters, softtriple},
      {"supcon", Local::similarity, 0, supcon},
      {"triplet", Local::distance, 0, triplet},
  };
  return losses;
}

}  // namespace diml::learn::test
