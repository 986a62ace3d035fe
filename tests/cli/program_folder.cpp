#include "cli/program_folder.h"

namespace diml::test {

ProgramResult ProgramFolder::run(const Arguments& arguments, ProgramSettings settings) const {
  settings.folder = folder_.path();
  return run_diml(arguments, settings);
}

std::string ProgramFolder::run_well(const Arguments& arguments,
                                    const ProgramSettings& settings) const {
  const ProgramResult result = run(arguments, settings);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

void ProgramFolder::expect_refused(const Arguments& arguments,
                                   const std::vector<std::string>& named,
                                   const ProgramSettings& settings) const {
  std::string command = "diml";
  for (const std::string& argument : arguments) command += " " + argument;
  SCOPED_TRACE(command);
  const std::vector<std::string> before = folder_.names();
  const ProgramResult result = run(arguments, settings);
  EXPECT_EQ(folder_.names(), before);
  ASSERT_NE(result.exit_code, 0) << "it was accepted";
  EXPECT_LT(result.exit_code, 126) << "it was not started, or ended by a signal";
  EXPECT_EQ(result.err.find("diml"), 0u) << result.err;
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "not one line: " << result.err;
  for (const std::string& name : named) {
    EXPECT_NE(result.err.find(name), std::string::npos) << "no '" << name << "' in " << result.err;
  }
}

}  // namespace diml::test
