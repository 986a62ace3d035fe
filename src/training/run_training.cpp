#include "training/run_training.h"
#include "base/threads.h"
#include "engine/process_group.h"

#include <filesystem>
#include <string_view>

#include "diml/error.h"
#include "learn/device.h"
#include "learn/torch_error.h"
#include "starting_model.h"
#include "trainer.h"

namespace diml::training {
namespace {

TrainConfig config_of(const TrainParams& params) {
  TrainConfig config;
  if (params.resume) read_yaml(params.out + "/config.yaml", config);
  for (const std::string& recipe : params.recipes) read_yaml(recipe, config);
  for (const auto& [name, value] : params.settings) set(config, name, value);
  check(config);
  return config;
}

TrainSummary run(const TrainParams& params, const TrainHooks& hooks) {
  if (params.out.empty())
    throw Error(ErrorKind::bad_input, "a run needs a folder to write to", "out");
  // Checked before the processes connect: where one ends, the others would wait for it.
  RunFolder folder(params.out, !params.resume);
  TrainConfig config = config_of(params);
  at::set_num_threads(thread_count(config.threads));

  const std::unique_ptr<Ranks> ranks =
      join_ranks(process_place(), learn::device_named(config.device));
  Trainer trainer(config, *ranks, ranks->is_root() ? &folder : nullptr, hooks);
  if (params.resume && std::filesystem::exists(folder.checkpoint())) {
    trainer.resume(folder.checkpoint());
  }
  // A smaller batch, where the images were too few for the one that was asked for.
  config.sampler.batch = trainer.sampler().batch;
  config.sampler.per_class = trainer.sampler().per_class;
  // Last: settings that do not fit change nothing on disk.
  if (ranks->is_root()) folder.begin(config);
  try {
    return trainer.run();
  } catch (const Error& error) {
    if (std::string_view(error.parameter()) != "skip_bad") throw;
    // From here on the folder holds a run: the same call needs both.
    throw Error(error.kind(), error.what() + ("; the run is kept in " + params.out),
                "skip_bad_resume");
  }
}

}  // namespace

void check_run(const TrainParams& params) {
  const TrainConfig config = config_of(params);
  // A single given size has to fit the other one, which comes from the weights.
  if ((config.model.crop > 0) != (config.model.resize > 0)) {
    starting_model(config, config.seed);
  }
}

TrainSummary run_training(const TrainParams& params, const TrainHooks& hooks) {
  return learn::in_one_line([&] { return run(params, hooks); });
}

}  // namespace diml::training
