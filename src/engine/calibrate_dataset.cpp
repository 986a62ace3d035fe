#include "engine/calibrate_dataset.h"

#include "diml/error.h"
#include "engine/labelled_grids.h"

namespace diml {

DatasetCalibration calibrate_dataset(const std::function<Embedder(std::size_t grid)>& open,
                                     const LabelledImages& images,
                                     const CalibrateDatasetParams& params,
                                     const CalibrateDatasetHooks& hooks) {
  if (params.grids.empty()) throw Error("calibration needs at least one size of grid");
  ProcessGroup alone;
  std::vector<LabelledGrids> embedded;
  for (const std::size_t grid : params.grids) {
    Embedder embedder = open(grid);
    embedded.push_back(embed_labelled(alone, embedder, images, params.bad, params.storage,
                                      hooks.on_embed ? hooks.on_embed(grid) : Progress()));
    if (embedded.back().files.kept != embedded.front().files.kept) {
      throw Error(ErrorKind::conflict, "the images changed while they were embedded: start again");
    }
  }
  std::vector<CalibrationGrids> candidates;
  for (std::size_t k = 0; k < params.grids.size(); ++k) {
    candidates.push_back({params.grids[k], embedded[k].files.view()});
  }
  CalibrateParams how = params.how;
  how.roles = embedded.front().roles;
  return {calibrate(candidates, embedded.front().labels, how, hooks.on_calibrate),
          embedded.front().files.bad};
}

}  // namespace diml
