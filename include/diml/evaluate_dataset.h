#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "diml/dataset.h"
#include "diml/embedder.h"
#include "diml/evaluate.h"

namespace diml {

// Images on disk with their labels and roles in retrieval.
struct LabelledImages {
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;        // -1: unlabelled
  std::vector<Role> roles;                 // empty where every image is query and gallery
  std::vector<std::string> class_names{};  // of the labels, where they have names
  bool labels_are_names = false;           // in galleries and reports: "pug" instead of 10
  bool numbered = false;                   // a benchmark: files of labels have numbers all the same
  std::size_t without_role = 0;            // images of the data set that are left out: neither
  Orientation orientation = Orientation::as_stored;

  // As a word: the name of its class, or its number; "" without a label.
  std::string label_of(std::size_t image) const;

  // Keeps the first `count` images.
  void cut_to(std::size_t count);
};

// The images of the data set that are queries, in the gallery or both.
LabelledImages labelled_images(const Dataset& data);

// In EvaluateParams::rerank: all images that could be read.
inline constexpr std::size_t kRerankAll = std::numeric_limits<std::size_t>::max();

struct EvaluateDatasetParams {
  std::vector<EvaluateParams> ways = {{}};  // on the same grids; roles are those of the images
  BadImages bad = BadImages::stop;
  CellType storage = CellType::float32;
};

struct EvaluateDatasetHooks {
  Progress on_embed{};
  Progress on_evaluate{};  // either of them may cancel
  // Called after each of the ways, on the root process.
  std::function<void(std::size_t way, const Evaluation& evaluation)> on_result{};
  // Called after on_result(), with the grids. kept: which images of the list they are.
  std::function<void(const Evaluation& evaluation, GridSetView grids,
                     std::span<const std::size_t> kept)>
      on_grids{};
};

struct DatasetEvaluation {
  std::vector<Evaluation> evaluations;  // one for each of the ways
  std::size_t images = 0;               // that could be read
  std::vector<std::string> bad;         // why the others could not
  double embed_seconds = 0.0;
};

// How well a network retrieves on a data set: its images become grids, and the grids are evaluated
// with the roles that the data set gives them.
DatasetEvaluation evaluate_dataset(Embedder& embedder, const LabelledImages& images,
                                   const EvaluateDatasetParams& params = {},
                                   const EvaluateDatasetHooks& hooks = {});

}  // namespace diml
