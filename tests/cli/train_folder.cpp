#include "cli/train_folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include <signal.h>

#include "critters/critters.h"

namespace diml::test {

namespace fs = std::filesystem;

TrainFolder::TrainFolder() {
  write_critters(at("critters"), {.classes = 8, .images_per_class = kOfClass, .size = 64});
}

Arguments TrainFolder::train(const std::string& out, const Arguments& settings,
                             const Arguments& more) {
  Arguments arguments = {"train",    "--dataset", "critters", "--root",
                         "critters", "--out",     out,        "--set"};
  const Arguments common = {
      "threads=1",           "epochs=2", "sampler.batch=8",     "model.dim=16",
      "evaluate.rerank=0,5", "grid=2",   "measure.matcher=auto"};
  arguments.insert(arguments.end(), common.begin(), common.end());
  arguments.insert(arguments.end(), settings.begin(), settings.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Arguments TrainFolder::resume(const std::string& out, const Arguments& more) {
  Arguments arguments = {"train", "--resume", "--out", out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string TrainFolder::metrics_of(const std::string& out) const {
  const std::string path = at(out + "/metrics.jsonl");
  return fs::exists(path) ? bytes_of(path) : "";
}

std::vector<nlohmann::json> TrainFolder::epochs_of(const std::string& out) const {
  std::istringstream text(metrics_of(out));
  std::vector<nlohmann::json> lines;
  std::string line;
  while (std::getline(text, line)) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::string TrainFolder::checkpoint_file(const std::string& out) const {
  return at(out + "/last/checkpoint.safetensors");
}

ProgramResult TrainFolder::run_until(const Arguments& arguments, int signal,
                                     const std::function<bool()>& ready) const {
  return run(arguments, {.meanwhile = [&, signal](int process) {
               for (int wait = 0; wait < 60'000 && !ready(); ++wait) {
                 std::this_thread::sleep_for(std::chrono::milliseconds(1));
               }
               ::kill(process, signal);
             }});
}

void TrainFolder::expect_one_line(const ProgramResult& result,
                                  const std::vector<std::string>& named) {
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.err.find("diml train: "), 0u) << result.err;
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "not one line: " << result.err;
  for (const std::string& name : named) {
    EXPECT_NE(result.err.find(name), std::string::npos) << "no '" << name << "' in " << result.err;
  }
}

}  // namespace diml::test
