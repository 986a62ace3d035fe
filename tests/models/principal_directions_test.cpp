#include "models/principal_directions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/refusal.h"

namespace diml::test {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

// Vectors of a mean that is far from zero and of spreads that fall slowly, as the cells of a
// network have, mixed so that no axis is a principal direction.
Floats random_vectors(std::size_t count, std::size_t dim, std::uint64_t seed, double fall = 0.7) {
  Random random(seed);
  Floats vectors(count * dim);
  Doubles spread(dim);
  for (std::size_t v = 0; v < count; ++v) {
    for (std::size_t d = 0; d < dim; ++d) {
      spread[d] = random.normal() * std::pow(1.0 + static_cast<double>(d), -fall);
    }
    for (std::size_t d = 0; d < dim; ++d) {
      const double mixed = 0.6 * spread[d] + 0.5 * spread[(d * 7 + 3) % dim] -
                           0.3 * spread[(d * 5 + 1) % dim] + (d % 3 == 0 ? 0.2 : 0.0);
      vectors[v * dim + d] = static_cast<float>(mixed);
    }
  }
  return vectors;
}

SecondMoment moment_of(const Floats& vectors, std::size_t dim, int threads = 0) {
  SecondMoment moment(dim, threads);
  moment.add(vectors);
  return moment;
}

PrincipalDirections directions_of(const Floats& vectors, std::size_t dim, std::size_t count,
                                  int threads = 0) {
  return principal_directions(moment_of(vectors, dim, threads),
                              {.count = count, .threads = threads});
}

// The definition, in double and plain loops: [dim, dim].
Doubles plain_moment(const Floats& vectors, std::size_t dim) {
  Doubles moment(dim * dim, 0.0);
  for (std::size_t first = 0; first < vectors.size(); first += dim) {
    double square = 0.0;
    for (std::size_t d = 0; d < dim; ++d) {
      square += static_cast<double>(vectors[first + d]) * vectors[first + d];
    }
    if (square == 0.0) continue;
    for (std::size_t i = 0; i < dim; ++i) {
      for (std::size_t j = 0; j < dim; ++j) {
        moment[i * dim + j] +=
            static_cast<double>(vectors[first + i]) * vectors[first + j] / square;
      }
    }
  }
  return moment;
}

double trace_of(const Doubles& matrix, std::size_t dim) {
  double sum = 0.0;
  for (std::size_t i = 0; i < dim; ++i) sum += matrix[i * dim + i];
  return sum;
}

// Eigenvalues in descending order, by Jacobi rotations.
Doubles plain_eigenvalues(Doubles matrix, std::size_t dim) {
  const auto at = [&](std::size_t i, std::size_t j) -> double& { return matrix[i * dim + j]; };
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (std::size_t i = 0; i < dim; ++i) {
      for (std::size_t j = i + 1; j < dim; ++j) {
        const double angle = 0.5 * std::atan2(2.0 * at(i, j), at(j, j) - at(i, i));
        const double c = std::cos(angle);
        const double s = std::sin(angle);
        for (std::size_t k = 0; k < dim; ++k) {
          const double x = at(i, k);
          const double y = at(j, k);
          at(i, k) = c * x - s * y;
          at(j, k) = s * x + c * y;
        }
        for (std::size_t k = 0; k < dim; ++k) {
          const double x = at(k, i);
          const double y = at(k, j);
          at(k, i) = c * x - s * y;
          at(k, j) = s * x + c * y;
        }
      }
    }
  }
  Doubles values(dim);
  for (std::size_t i = 0; i < dim; ++i) values[i] = at(i, i);
  std::sort(values.begin(), values.end(), std::greater<>());
  return values;
}

// The part of a moment that these rows keep, by the definition.
double kept_by(const PrincipalDirections& directions, const Doubles& moment) {
  const std::size_t dim = directions.dim;
  double kept = 0.0;
  for (std::size_t r = 0; r < directions.count(); ++r) {
    const float* row = &directions.rows[r * dim];
    for (std::size_t i = 0; i < dim; ++i) {
      for (std::size_t j = 0; j < dim; ++j) {
        kept += static_cast<double>(row[i]) * moment[i * dim + j] * row[j];
      }
    }
  }
  return kept / trace_of(moment, dim);
}

double dot_of(const PrincipalDirections& directions, std::size_t r, std::size_t s) {
  const std::size_t dim = directions.dim;
  double sum = 0.0;
  for (std::size_t d = 0; d < dim; ++d) {
    sum += static_cast<double>(directions.rows[r * dim + d]) * directions.rows[s * dim + d];
  }
  return sum;
}

void expect_orthonormal(const PrincipalDirections& directions) {
  for (std::size_t r = 0; r < directions.count(); ++r) {
    for (std::size_t s = 0; s <= r; ++s) {
      EXPECT_NEAR(dot_of(directions, r, s), r == s ? 1.0 : 0.0, 1e-6) << r << " and " << s;
    }
  }
}

TEST(SecondMoment, IsTheSumOfTheDefinition) {
  constexpr std::size_t kDim = 75;  // not a multiple of a panel
  const Floats vectors = random_vectors(601, kDim, 1);
  const Doubles expected = plain_moment(vectors, kDim);
  const Doubles panels = moment_of(vectors, kDim).panels();
  const std::size_t rows = 2 * SecondMoment::kPanel;
  ASSERT_EQ(panels.size(), rows * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      const double found = panels[(j / SecondMoment::kPanel * rows + i) * SecondMoment::kPanel +
                                  j % SecondMoment::kPanel];
      if (i < kDim && j < kDim) {
        EXPECT_NEAR(found, expected[i * kDim + j], 2e-5) << i << ", " << j;
      } else {
        EXPECT_EQ(found, 0.0) << i << ", " << j;
      }
    }
  }
}

TEST(SecondMoment, IsTheSameHoweverTheVectorsComeIn) {
  constexpr std::size_t kDim = 70;
  const Floats vectors = random_vectors(530, kDim, 2);
  SecondMoment one_by_one(kDim, 3);
  for (std::size_t first = 0; first < vectors.size(); first += kDim) {
    one_by_one.add({&vectors[first], kDim});
  }
  EXPECT_EQ(one_by_one.count(), 530u);
  EXPECT_EQ(one_by_one.panels(), moment_of(vectors, kDim, 1).panels());
}

TEST(SecondMoment, GoesOnAfterALook) {
  constexpr std::size_t kDim = 9;
  const Floats vectors = random_vectors(300, kDim, 3);
  SecondMoment looked_at(kDim);
  looked_at.add({vectors.data(), 101 * kDim});
  looked_at.panels();
  looked_at.add({&vectors[101 * kDim], 199 * kDim});
  EXPECT_EQ(looked_at.panels(), moment_of(vectors, kDim).panels());
}

TEST(SecondMoment, RefusesWhatIsNoVector) {
  SecondMoment moment(4);
  expect_refused([&] { moment.add(Floats(6, 1.0F)); }, "wrong size");
  expect_refused([&] { moment.add(Floats{1.0F, NAN, 0.0F, 0.0F}); }, "NaN or infinity");
  expect_refused([] { SecondMoment(0); }, "no dimensions");
}

TEST(PrincipalDirections, KeepWhatTheDenseReferenceKeeps) {
  for (const auto& [dim, count] :
       {std::pair<std::size_t, std::size_t>{96, 12}, {70, 40}, {33, 33}, {64, 1}}) {
    const Floats vectors = random_vectors(900, dim, dim);
    const Doubles moment = plain_moment(vectors, dim);
    const Doubles values = plain_eigenvalues(moment, dim);
    const PrincipalDirections found = directions_of(vectors, dim, count);
    EXPECT_TRUE(found.converged);
    ASSERT_EQ(found.count(), count);
    ASSERT_EQ(found.rows.size(), count * dim);
    expect_orthonormal(found);
    const double trace = trace_of(moment, dim);
    double best = 0.0;
    for (std::size_t r = 0; r < count; ++r) {
      EXPECT_NEAR(found.shares[r], values[r] / trace, 1e-6) << r;
      best += values[r] / trace;
    }
    EXPECT_NEAR(found.kept, best, 1e-6);
    EXPECT_NEAR(kept_by(found, moment), best, 1e-6);
  }
}

TEST(PrincipalDirections, AreEigenvectors) {
  constexpr std::size_t kDim = 80;
  constexpr std::size_t kCount = 20;
  const Floats vectors = random_vectors(700, kDim, 5);
  const Doubles moment = plain_moment(vectors, kDim);
  const double trace = trace_of(moment, kDim);
  const PrincipalDirections found = directions_of(vectors, kDim, kCount);
  for (std::size_t r = 0; r < kCount; ++r) {
    for (std::size_t i = 0; i < kDim; ++i) {
      double turned = 0.0;
      for (std::size_t j = 0; j < kDim; ++j) {
        turned += moment[i * kDim + j] * found.rows[r * kDim + j];
      }
      EXPECT_NEAR(turned / trace, found.shares[r] * found.rows[r * kDim + i], 1e-6) << r;
    }
  }
}

TEST(PrincipalDirections, HaveTheirLargestComponentPositive) {
  constexpr std::size_t kDim = 50;
  const PrincipalDirections found = directions_of(random_vectors(400, kDim, 6), kDim, 10);
  for (std::size_t r = 0; r < found.count(); ++r) {
    const auto first = found.rows.begin() + static_cast<std::ptrdiff_t>(r * kDim);
    const auto [low, high] = std::minmax_element(first, first + kDim);
    EXPECT_GT(*high, -*low) << r;
  }
}

TEST(PrincipalDirections, AreTheSameWithAnyNumberOfThreads) {
  constexpr std::size_t kDim = 150;
  const Floats vectors = random_vectors(800, kDim, 7);
  const PrincipalDirections alone = directions_of(vectors, kDim, 30, 1);
  for (const int threads : {2, 3, 8}) {
    const PrincipalDirections together = directions_of(vectors, kDim, 30, threads);
    EXPECT_EQ(together.rows, alone.rows) << threads;
    EXPECT_EQ(together.shares, alone.shares) << threads;
  }
}

TEST(PrincipalDirections, DoNotKnowHowLongTheVectorsAre) {
  constexpr std::size_t kDim = 40;
  Floats vectors = random_vectors(300, kDim, 8);
  const PrincipalDirections before = directions_of(vectors, kDim, 8);
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    vectors[k] *= std::ldexp(1.0F, static_cast<int>(k / kDim % 60) - 30);  // each its own
  }
  EXPECT_EQ(directions_of(vectors, kDim, 8).rows, before.rows);
  for (float& value : vectors) value *= 0.3F;
  const PrincipalDirections after = directions_of(vectors, kDim, 8);
  for (std::size_t k = 0; k < before.rows.size(); ++k) {
    EXPECT_NEAR(after.rows[k], before.rows[k], 1e-4);
  }
}

TEST(PrincipalDirections, StayOrthonormalWhereTheVectorsSpanLess) {
  constexpr std::size_t kDim = 60;
  Floats vectors(200 * kDim, 0.0F);  // zero vectors among them
  for (std::size_t v = 0; v < 200; v += 2) {
    vectors[v * kDim + v % 3] = 1.0F + static_cast<float>(v % 4);
  }
  const PrincipalDirections found = directions_of(vectors, kDim, 10);
  EXPECT_TRUE(found.converged);
  expect_orthonormal(found);
  EXPECT_NEAR(found.kept, 1.0, 1e-9);
  EXPECT_NEAR(found.shares[0] + found.shares[1] + found.shares[2], 1.0, 1e-9);
  EXPECT_NEAR(found.shares[9], 0.0, 1e-12);
}

TEST(PrincipalDirections, SayWhereTheyDidNotConverge) {
  constexpr std::size_t kDim = 300;
  const SecondMoment moment = moment_of(random_vectors(600, kDim, 9, 0.1), kDim);
  EXPECT_FALSE(principal_directions(moment, {.count = 20, .most_steps = 4}).converged);
  const PrincipalDirections patient = principal_directions(moment, {.count = 20});
  EXPECT_TRUE(patient.converged);
  EXPECT_GT(patient.steps, 4u);
}

TEST(PrincipalDirections, RefuseWhatThereIsNot) {
  const SecondMoment some = moment_of(random_vectors(20, 5, 10), 5);
  expect_refused([&] { principal_directions(some, {.count = 6}); }, "have 1 to 5");
  expect_refused([&] { principal_directions(some, {.count = 0}); }, "not 0");
  expect_refused([] { principal_directions(SecondMoment(5), {.count = 2}); },
                 "all vectors are zero");
}

}  // namespace
}  // namespace diml::test
