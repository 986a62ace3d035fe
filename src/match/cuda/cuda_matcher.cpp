#include "cuda_matcher.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>

#include "base/threads.h"
#include "device.h"
#include "device_grids.h"
#include "diml/error.h"
#include "match/match_on_device.h"

namespace diml::cuda {
namespace {

// Pairs per batch: bounds the GPU's memory; plans are copied back while the next are computed.
constexpr std::size_t kPairsAtOnce = std::size_t{1} << 22;
constexpr std::size_t kPlanBytesAtOnce = std::size_t{1} << 30;

// The grids that pairs refer to on one side, packed, and the new index of each.
struct Named {
  std::vector<std::int64_t> ids;
  std::unordered_map<std::int64_t, std::int64_t> places;

  std::int64_t place_of(std::int64_t id) {
    const auto [found, added] = places.emplace(id, static_cast<std::int64_t>(ids.size()));
    if (added) ids.push_back(id);
    return found->second;
  }
};

void expect_supported(const GridSetView& set) {
  if (set.type != CellType::int8) return;
  throw Error(ErrorKind::unsupported,
              "int8 cells are matched on CPUs: choose the matcher cpu, or cells of float16");
}

class CudaMatcher final : public Matcher {
 public:
  explicit CudaMatcher(MatcherParams params) : params_(params) {}

  Backend backend() const override { return Backend::cuda; }

  std::shared_ptr<const void> keep(const GridSetView& set) const override {
    expect_supported(set);
    const std::lock_guard lock(mutex_);
    kept_.remove_if([](const auto& one) { return one.expired(); });
    for (const auto& one : kept_) {
      if (const auto grids = one.lock(); grids && grids->holds(set)) return grids;
    }
    auto grids = std::make_shared<const UploadedGrids>(set, stream_);
    stream_.wait();
    kept_.push_back(grids);
    return grids;
  }

 protected:
  void run(const PairBatch& batch, const MatchParams& params,
           const Outputs& outputs) const override {
    expect_supported(batch.sources);
    expect_supported(batch.targets);
    if (outputs.quantity == Quantity::distance) {
      in_full(batch, params, outputs, false);
      return;
    }
    const std::lock_guard lock(mutex_);  // one stream, one set of arrays
    const std::size_t plan_size = batch.sources.cells_per_grid * batch.targets.cells_per_grid;
    std::size_t at_once = kPairsAtOnce;
    if (outputs.plans) {
      at_once = std::clamp<std::size_t>(kPlanBytesAtOnce / (plan_size * sizeof(float)), 1, at_once);
    }
    const auto sources = kept(batch.sources);
    const auto targets = kept(batch.targets);
    for (std::size_t first = 0; first < batch.pairs.size(); first += at_once) {
      outputs.progress->stop_if_cancelled();
      const std::size_t count = std::min(at_once, batch.pairs.size() - first);
      run_some({batch.sources, batch.targets, batch.pairs.subspan(first, count)}, params,
               {outputs.quantity, outputs.scores + first,
                outputs.plans ? outputs.plans + first * plan_size : nullptr,
                outputs.reports ? outputs.reports + first : nullptr, outputs.progress},
               sources.get(), targets.get());
    }
  }

 private:
  std::shared_ptr<const UploadedGrids> kept(const GridSetView& set) const {
    for (const auto& one : kept_) {
      if (auto grids = one.lock(); grids && grids->holds(set)) return grids;
    }
    return nullptr;
  }

  void run_some(const PairBatch& batch, const MatchParams& params, const Outputs& outputs,
                const UploadedGrids* sources, const UploadedGrids* targets) const {
    const std::size_t count = batch.pairs.size();
    const bool widen = batch.sources.type != batch.targets.type;
    if (widen) sources = targets = nullptr;
    std::vector<Pair> placed;
    std::optional<UploadedGrids> own_sources;
    std::optional<UploadedGrids> own_targets;
    std::span<const Pair> pairs = batch.pairs;
    if (!sources || !targets) {
      Named source_ids;
      Named target_ids;
      placed.reserve(count);
      for (const Pair& pair : batch.pairs) {
        placed.push_back({sources ? pair.source : source_ids.place_of(pair.source),
                          targets ? pair.target : target_ids.place_of(pair.target)});
      }
      pairs = placed;
      if (!sources) {
        sources = &own_sources.emplace(batch.sources, source_ids.ids, widen, stream_);
      }
      if (!targets) {
        targets = &own_targets.emplace(batch.targets, target_ids.ids, widen, stream_);
      }
    }
    const std::size_t plan_size = batch.sources.cells_per_grid * batch.targets.cells_per_grid;
    const DeviceOutputs device{scores_.reserve(count),
                               outputs.plans ? plans_.reserve(count * plan_size) : nullptr,
                               outputs.reports ? reports_.reserve(count) : nullptr};
    match_on_device(sources->view(), targets->view(), pairs_.upload(pairs, stream_), count, params,
                    device, stream_);
    scores_.download({outputs.scores, count}, stream_);
    if (outputs.plans) plans_.download({outputs.plans, count * plan_size}, stream_);
    std::vector<DeviceReport> reports(outputs.reports ? count : 0);
    if (outputs.reports) reports_.download(reports, stream_);
    stream_.wait();
    for (std::size_t k = 0; k < reports.size(); ++k) {
      const DeviceReport& from = reports[k];
      outputs.reports[k] = {from.iterations,
                            from.marginal_error,
                            from.converged,
                            {from.uniform_source, from.uniform_target, from.log_domain},
                            {},
                            {}};
    }
    if (outputs.reports && params.certificate == Certificate::duality_gap) {
      in_full(batch, params, outputs, true);
    }
  }

  // Not supported by the kernels: distances and certificates. Both are rare.
  void in_full(const PairBatch& batch, const MatchParams& params, const Outputs& outputs,
               bool brackets_only) const {
    MatchParams own = params;
    own.transport.backend = is_available(Backend::cpu) ? Backend::cpu : Backend::reference;
    parallel_for(
        batch.pairs.size(), 1, params_.threads,
        [&](std::size_t begin, std::size_t end) {
          for (std::size_t k = begin; k < end; ++k) {
            const StructuralMatch full =
                match(batch.sources[static_cast<std::size_t>(batch.pairs[k].source)],
                      batch.targets[static_cast<std::size_t>(batch.pairs[k].target)], own);
            if (brackets_only) {
              outputs.reports[k].bracket = full.bracket;
            } else {
              store(full, outputs, k);
            }
          }
        },
        *outputs.progress);
  }

  MatcherParams params_;
  mutable std::mutex mutex_;
  mutable Stream stream_;
  mutable std::list<std::weak_ptr<const UploadedGrids>> kept_;
  mutable DeviceArray<Pair> pairs_;
  mutable DeviceArray<float> scores_;
  mutable DeviceArray<float> plans_;
  mutable DeviceArray<DeviceReport> reports_;
};

}  // namespace

std::unique_ptr<Matcher> make_cuda_matcher(MatcherParams params) {
  return std::make_unique<CudaMatcher>(params);
}

}  // namespace diml::cuda
