#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "cli/program.h"

namespace diml::test {

// A temporary folder for one test. The program runs in it, so that the names on its command line
// and in its messages are short.
class ProgramFolder : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }

  ProgramResult run(const Arguments& arguments, ProgramSettings settings = {}) const;
  // Fails the test if the program fails; returns its output.
  std::string run_well(const Arguments& arguments, const ProgramSettings& settings = {}) const;

  // The program fails with one line on standard error that contains all of `named`; no file is
  // created or removed.
  void expect_refused(const Arguments& arguments, const std::vector<std::string>& named,
                      const ProgramSettings& settings = {}) const;

  const TemporaryFolder folder_;
};

}  // namespace diml::test
