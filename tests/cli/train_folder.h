#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/program_folder.h"
#include "weights/weights.h"

namespace diml::test {

// A folder with critters/, eight classes of six pictures, of which the first four classes train.
class TrainFolder : public ProgramFolder {
 protected:
  static constexpr std::size_t kOfClass = 6;
  static constexpr std::size_t kTrained = 4 * kOfClass;

  TrainFolder();

  // `diml train` of a small network on one thread, in batches of 8 out of the 24 images; settings:
  // "name=value", later ones win.
  static Arguments train(const std::string& out, const Arguments& settings = {},
                         const Arguments& more = {});
  static Arguments resume(const std::string& out, const Arguments& more = {});

  std::string metrics_of(const std::string& out) const;  // the bytes; "" before there are any
  std::vector<nlohmann::json> epochs_of(const std::string& out) const;
  std::string checkpoint_file(const std::string& out) const;
  // Runs and sends the signal as soon as `ready` returns true.
  ProgramResult run_until(const Arguments& arguments, int signal,
                          const std::function<bool()>& ready) const;
  // It failed with one line that contains all of `named`.
  static void expect_one_line(const ProgramResult& result, const std::vector<std::string>& named);
};

}  // namespace diml::test
