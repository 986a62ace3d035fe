// The kernel ladder: from one thread per pair to the final kernels, each tested against the
// reference before it is timed. docs/cuda.md has the table this prints.
//
//   cuda_ladder [GRIDS [CANDIDATES]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "device.h"
#include "device_grids.h"
#include "diml/generated.h"
#include "diml/matcher.h"
#include "pair_work.h"
#include "rungs.h"

namespace {

using namespace diml;
using namespace diml::cuda;

constexpr int kWarmUps = 3;
constexpr int kRuns = 9;
constexpr double kHighestCopyRate = 4.8e12;  // bytes/s, H200's data sheet

double median_seconds(const Stream& stream, const std::function<void()>& work) {
  cudaEvent_t begin{};
  cudaEvent_t end{};
  check(cudaEventCreate(&begin), "make an event");
  check(cudaEventCreate(&end), "make an event");
  std::vector<double> seconds;
  for (int run = 0; run < kWarmUps + kRuns; ++run) {
    check(cudaEventRecord(begin, stream), "note the time");
    work();
    check(cudaEventRecord(end, stream), "note the time");
    stream.wait();
    float milliseconds = 0.0f;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "tell the time");
    if (run >= kWarmUps) seconds.push_back(milliseconds / 1e3);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::nth_element(seconds.begin(), seconds.begin() + kRuns / 2, seconds.end());
  return seconds[kRuns / 2];
}

double copy_rate(const Stream& stream) {
  constexpr std::size_t kBytes = std::size_t{4} << 30;
  DeviceArray<std::byte> from(kBytes);
  DeviceArray<std::byte> to(kBytes);
  check(cudaMemsetAsync(from.data(), 0x5a, kBytes, stream), "fill memory");
  const double seconds = median_seconds(stream, [&] {
    check(cudaMemcpyAsync(to.data(), from.data(), kBytes, cudaMemcpyDeviceToDevice, stream),
          "copy");
  });
  return 2.0 * kBytes / seconds;
}

struct Rung {
  const char* name;
  std::function<void(const PairWork&, cudaStream_t)> launch;
  std::size_t most_pairs;  // slow kernels run fewer
};

struct Problem {
  Problem(std::size_t grids, std::size_t candidates, std::size_t side, CellType type)
      : made(generate_grids({grids, std::max<std::size_t>(1, grids / 5), side, 128, 0, type})),
        uploaded(made.grids.view(), stream) {
    std::mt19937_64 random(1);
    for (std::size_t q = 0; q < grids; ++q) {
      for (std::size_t k = 0; k < candidates; ++k) {
        pairs.push_back(
            {static_cast<std::int64_t>(q), static_cast<std::int64_t>(random() % grids)});
      }
    }
    device_pairs.upload(pairs, stream);
    scores.reserve(pairs.size());
    stream.wait();
  }

  PairWork work(std::size_t count) const {
    return {uploaded.view(),
            uploaded.view(),
            device_pairs.data(),
            std::min(count, pairs.size()),
            MarginalRule::cross_correlation,
            0.05f,
            1e-4f,
            1000,
            {scores.data(), nullptr, nullptr}};
  }

  Stream stream;
  GeneratedGrids made;
  UploadedGrids uploaded;
  std::vector<Pair> pairs;
  DeviceArray<Pair> device_pairs;
  DeviceArray<float> scores;
};

// Largest difference from the reference over pairs from all over the list.
double proved(const Problem& problem, const Rung& rung, std::size_t count) {
  const PairWork work = problem.work(count);
  check(cudaMemsetAsync(problem.scores.data(), 0xff, work.count * sizeof(float), problem.stream),
        "fill memory");  // NaN: what is not written is seen
  rung.launch(work, problem.stream);
  std::vector<float> scores(work.count);
  problem.scores.download(scores, problem.stream);
  problem.stream.wait();
  std::vector<Pair> some;
  std::vector<float> found;
  for (std::size_t k = 0; k < work.count; k += std::max<std::size_t>(1, work.count / 2000)) {
    some.push_back(problem.pairs[k]);
    found.push_back(scores[k]);
  }
  std::vector<float> expected(some.size());
  const GridSetView grids = problem.made.grids.view();
  make_matcher(Backend::reference)->score({grids, grids, some}, {}, expected);
  double largest = 0.0;
  for (std::size_t k = 0; k < some.size(); ++k) {
    const double difference = std::abs(found[k] - expected[k]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

void climb(std::size_t grids, std::size_t candidates, std::size_t side, CellType type,
           const std::vector<Rung>& rungs, double measured_copy_rate) {
  const Problem problem(grids, candidates, side, type);
  const std::size_t cells = side * side;
  // Each pair reads a target and its global; a source serves all its candidates.
  const double bytes = static_cast<double>(cells * 128 * size_of(type) + 128 * sizeof(float));
  const double flops = 2.0 * 128 * static_cast<double>(cells * cells + 2 * cells);
  std::printf("\n%zux%zux128 %s, %zu grids (%.0f MB), %zu candidates each\n", side, side,
              name_of(type), grids, static_cast<double>(grids * cells * 128 * size_of(type)) / 1e6,
              candidates);
  std::printf("%-28s %10s %10s %12s %10s %12s %12s\n", "kernel", "pairs", "ms", "M pairs/s", "GB/s",
              "of copying", "error");
  for (const Rung& rung : rungs) {
    const PairWork work = problem.work(rung.most_pairs);
    const double error = proved(problem, rung, rung.most_pairs);
    if (!(error < (type == CellType::bfloat16 ? 1e-3 : 1e-4))) {
      std::printf("%-28s differs from the reference by %g: not timed\n", rung.name, error);
      std::exit(1);
    }
    const double seconds =
        median_seconds(problem.stream, [&] { rung.launch(work, problem.stream); });
    const double rate = static_cast<double>(work.count) / seconds;
    std::printf("%-28s %10zu %10.3f %12.1f %10.0f %11.1f%% %12.2e\n", rung.name, work.count,
                seconds * 1e3, rate / 1e6, rate * bytes / 1e9,
                100.0 * rate * bytes / measured_copy_rate, error);
    std::fflush(stdout);
  }
  std::printf("%-28s %10s %10.3f %12.1f   (%.0f bytes and %.0f kFLOP a pair)\n", "memory's floor",
              "", static_cast<double>(problem.pairs.size()) * bytes / measured_copy_rate * 1e3,
              measured_copy_rate / bytes / 1e6, bytes, flops / 1e3);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::size_t grids = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 60502;
  const std::size_t candidates = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 100;
  if (!is_available()) throw Error(describe_device());
  constexpr std::size_t kAll = SIZE_MAX;
  std::printf("%s\n", describe_device().c_str());
  double rate = 0.0;
  {
    const Stream stream;
    rate = copy_rate(stream);
  }
  std::printf("copying moves %.2f TB/s (%.0f %% of the data sheet's %.1f)\n", rate / 1e12,
              100.0 * rate / kHighestCopyRate, kHighestCopyRate / 1e12);
  const Rung any{"a block a pair", launch_match_any, 400'000};
  const Rung final16{"eight pairs a warp, tensor", launch_match_16, kAll};
  const Rung final49{"two warps a pair, tensor", launch_match_49, kAll};
  climb(grids, candidates, 4, CellType::float32,
        {{"a thread a pair", launch_thread_a_pair, 400'000},
         any,
         {"a warp a pair", launch_warp_a_pair, 1'000'000},
         final16},
        rate);
  climb(grids, candidates, 4, CellType::float16, {any, final16}, rate);
  climb(grids, candidates, 4, CellType::bfloat16, {final16}, rate);
  climb(grids, std::max<std::size_t>(1, candidates / 10), 7, CellType::float32, {any, final49},
        rate);
  climb(grids, std::max<std::size_t>(1, candidates / 10), 7, CellType::float16, {final49}, rate);
  return 0;
} catch (const diml::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
