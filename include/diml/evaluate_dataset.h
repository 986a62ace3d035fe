#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/embedder.h"
#include "diml/evaluate.h"
#include "diml/labelled_images.h"
#include "diml/process_group.h"

namespace diml {

// In EvaluateParams::rerank: all images that could be read.
inline constexpr std::size_t kRerankAll = std::numeric_limits<std::size_t>::max();

struct EvaluateDatasetParams {
  std::vector<EvaluateParams> ways = {{}};  // on the same grids; roles are those of the images
  BadImages bad = BadImages::stop;
  CellType storage = CellType::float32;
};

struct EvaluateDatasetHooks {
  Progress on_embed{};
  Progress on_evaluate{};
  std::function<bool()> stop{};  // asked now and then
  // As soon as one of the ways is through, on the process that writes.
  std::function<void(std::size_t way, const Evaluation& evaluation)> on_result{};
};

struct DatasetEvaluation {
  std::vector<Evaluation> evaluations;  // one for each of the ways
  std::size_t images = 0;               // that could be read
  std::vector<std::string> bad;         // why the others could not
  double embed_seconds = 0.0;
};

// What a network is worth on a data set: its images become grids, and the grids are evaluated with
// the roles that the data set gives them. Every process embeds its share; what came of it is on the
// one that writes, the others get nothing. nullopt, on all of them, where it was stopped before its
// end.
std::optional<DatasetEvaluation> evaluate_dataset(ProcessGroup& processes, Embedder& embedder,
                                                  const LabelledImages& images,
                                                  const EvaluateDatasetParams& params = {},
                                                  const EvaluateDatasetHooks& hooks = {});

}  // namespace diml
