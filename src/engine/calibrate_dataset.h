#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "diml/evaluate_dataset.h"
#include "engine/calibrate.h"

namespace diml {

struct CalibrateDatasetParams {
  std::vector<std::size_t> grids = {4, 7};  // cells per side, to try
  CalibrateParams how{};                    // roles are those of the images
  BadImages bad = BadImages::stop;
  CellType storage = CellType::float32;
};

struct CalibrateDatasetHooks {
  std::function<Progress(std::size_t grid)> on_embed{};  // of the images, with this grid
  Progress on_calibrate{};
};

struct DatasetCalibration {
  CalibrationResult result;
  std::vector<std::string> bad;  // why images could not be read
};

// Embeds the images with each size of grid, as evaluate_dataset() does, and calibrates on them.
// open: the embedder of a grid.
DatasetCalibration calibrate_dataset(const std::function<Embedder(std::size_t grid)>& open,
                                     const LabelledImages& images,
                                     const CalibrateDatasetParams& params = {},
                                     const CalibrateDatasetHooks& hooks = {});

}  // namespace diml
