// What bash, fish, zsh and the typesetter of manual pages make of the files that the program
// writes.

#include <cstdlib>
#include <fstream>

#include "cli/program_folder.h"

namespace diml::test {
namespace {

class Shell : public ProgramFolder {
 protected:
  // The output of a shell's own commands; they end after a minute.
  std::string output_of(const std::string& shell, const std::string& commands) const {
    std::ofstream(at("script")) << commands << "\n";
    const std::string call = "cd '" + at("") + "' && HOME='" + at("") + "' TERM=dumb timeout 60 " +
                             shell + " script > shell.out 2>&1";
    EXPECT_EQ(std::system(call.c_str()), 0) << bytes_of(at("shell.out"));
    return bytes_of(at("shell.out"));
  }
  void put_completion(const std::string& shell, const std::string& name) const {
    std::ofstream(at(name)) << run_well({"completion", shell});
  }
  static bool is_missing(const std::string& program) {
    return std::system(("command -v " + program + " > /dev/null").c_str()) != 0;
  }
};

TEST_F(Shell, BashCompletesCommandsOptionsAndValues) {
  put_completion("bash", "diml.bash");
  const std::string shown = output_of(
      "bash",
      "source ./diml.bash\n"
      "try() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _diml; echo \"${COMPREPLY[*]}\"; }\n"
      "try diml mat\ntry diml match --marg\ntry diml match --marginals ''\n"
      "try diml match --cells ''\ntry diml --ver\ntry diml list --j");
  EXPECT_EQ(shown,
            "match\n--marginals\ncross_correlation uniform\n\n--version --verbose\n--json\n");
  expect_refused({"completion", "tcsh"}, {"tcsh", "bash"});
}

TEST_F(Shell, FishCompletesCommandsOptionsAndValues) {
  if (is_missing("fish")) GTEST_SKIP() << "there is no fish: apt-get install fish";
  put_completion("fish", "diml.fish");
  const std::string shown = output_of("fish",
                                      "source diml.fish\n"
                                      "complete -C 'diml matc' | cut -f 1\n"
                                      "complete -C 'diml match --marg' | cut -f 1\n"
                                      "complete -C 'diml match --marginals ' | cut -f 1");
  EXPECT_EQ(shown, "match\n--marginals\ncross_correlation\nuniform\n");
}

// As somebody at the keyboard, who presses the tabulator.
TEST_F(Shell, ZshCompletesCommandsOptionsAndValues) {
  if (is_missing("zsh")) GTEST_SKIP() << "there is no zsh: apt-get install zsh";
  put_completion("zsh", "_diml");
  const std::string shown = output_of(
      "zsh",
      "zmodload zsh/zpty\n"
      "zpty z zsh -f -i\n"
      "zpty -w z \"fpath=($PWD \\$fpath); autoload -Uz compinit; compinit -u -d $PWD/dump; "
      "print rea''dy\"\n"
      "zpty -r z out '*ready*'\n"
      "zpty -w -n z $'diml matc\\t'\nzpty -r z out '*diml match*' && echo command\n"
      "zpty -w -n z $'--marg\\t'\nzpty -r z out '*--marginals*' && echo option\n"
      "zpty -w -n z $'uni\\t'\nzpty -r z out '*uniform*' && echo value\n"
      "zpty -d z");
  EXPECT_EQ(shown, "command\noption\nvalue\n");
}

TEST_F(Shell, ManualPagesAreTypesetWithoutWarnings) {
  if (is_missing("groff")) GTEST_SKIP() << "there is no groff: apt-get install groff-base";
  run_well({"man", "pages/man1"});
  EXPECT_EQ(output_of("sh", "groff -man -Tascii -ww pages/man1/*.1 > /dev/null"), "");
  EXPECT_NE(output_of("sh", "groff -man -Tascii -P-cbou pages/man1/diml-match.1").find("EXAMPLE"),
            std::string::npos);
}

}  // namespace
}  // namespace diml::test
