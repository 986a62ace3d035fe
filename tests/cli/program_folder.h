#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "cli/program.h"

namespace diml::test {

// A folder of its own for one test. The program runs in it, so that the names on its command line
// and in its messages are short.
class ProgramFolder : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }

  ProgramResult run(const Arguments& arguments, ProgramSettings settings = {}) const;
  // Fails the test where the program does; returns what it printed.
  std::string run_well(const Arguments& arguments, const ProgramSettings& settings = {}) const;

  // The program fails with one line on standard error that holds all of `named`; no file comes or
  // goes.
  void expect_refused(const Arguments& arguments, const std::vector<std::string>& named,
                      const ProgramSettings& settings = {}) const;

  const TemporaryFolder folder_;
};

}  // namespace diml::test
