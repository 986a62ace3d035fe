#include "diml/train.h"

#include <filesystem>

#include "diml/error.h"
#include "trainer.h"

namespace diml {

TrainSummary train(const TrainCall& call, const TrainHooks& hooks) {
  learn::TrainConfig config;
  const std::string kept = call.out + "/config.yaml";
  if (call.out.empty()) throw Error("a run needs a folder: --out RUN");
  if (call.resume) {
    if (!std::filesystem::exists(kept)) {
      throw Error(call.out + ": holds no run to go on with: leave out --resume");
    }
    read_yaml(kept, config);
  }
  for (const std::string& recipe : call.recipes) read_yaml(recipe, config);
  for (const auto& [name, value] : call.settings) set(config, name, value);
  check(config);
  at::set_num_threads(thread_count(config.threads));

  const std::unique_ptr<training::Ranks> ranks = training::join_ranks();
  std::unique_ptr<training::RunFolder> folder;
  if (ranks->writes()) {
    folder = std::make_unique<training::RunFolder>(call.out, !call.resume);
  }
  training::Trainer trainer(config, *ranks, folder.get(), hooks);
  if (folder) folder->write_config(config);
  const std::string checkpoint = call.out + "/last/checkpoint.safetensors";
  if (call.resume && std::filesystem::exists(checkpoint)) trainer.resume(checkpoint);
  return trainer.run();
}

}  // namespace diml
