#include "diml/train.h"

#include <filesystem>

#include "diml/error.h"
#include "learn/device.h"
#include "learn/torch_error.h"
#include "starting_model.h"
#include "trainer.h"

namespace diml {
namespace {

learn::TrainConfig config_of(const TrainCall& call) {
  learn::TrainConfig config;
  if (call.resume) read_yaml(call.out + "/config.yaml", config);
  for (const std::string& recipe : call.recipes) read_yaml(recipe, config);
  for (const auto& [name, value] : call.settings) set(config, name, value);
  check(config);
  return config;
}

TrainSummary run(const TrainCall& call, const TrainHooks& hooks) {
  if (call.out.empty())
    throw Error(ErrorKind::bad_input, "a run needs a folder to write to", "out");
  // Looked at before the others are met: where one process ends, the rest would wait for it.
  training::RunFolder folder(call.out, !call.resume);
  const learn::TrainConfig config = config_of(call);
  at::set_num_threads(thread_count(config.threads));

  const std::unique_ptr<training::Ranks> ranks =
      training::join_ranks(process_place(), learn::device_named(config.device));
  training::Trainer trainer(config, *ranks, ranks->writes() ? &folder : nullptr, hooks);
  if (call.resume && std::filesystem::exists(folder.checkpoint())) {
    trainer.resume(folder.checkpoint());
  }
  // Last: settings that do not fit change nothing on disk.
  if (ranks->writes()) folder.begin(config);
  return trainer.run();
}

}  // namespace

void check_training(const TrainCall& call) {
  const learn::TrainConfig config = config_of(call);
  // One size alone has to fit the other, which the weights know.
  if ((config.model.crop > 0) != (config.model.resize > 0)) {
    training::starting_model(config, config.seed);
  }
}

TrainSummary train(const TrainCall& call, const TrainHooks& hooks) {
  return learn::in_one_line([&] { return run(call, hooks); });
}

}  // namespace diml
