#include "failure.h"

#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>

#include <gtest/gtest.h>

namespace diml::cli {
namespace {

// How the program reports an exception of a command.
Error error_of(const std::function<void()>& command) {
  try {
    command();
  } catch (...) {
    return current_error();
  }
  return Error("nothing was thrown");
}

TEST(FailureTest, KeepsWhatTheLibraryThrows) {
  const Error error = error_of([] { throw Error(ErrorKind::damaged, "g: is damaged", "resume"); });
  EXPECT_STREQ(error.what(), "g: is damaged");
  EXPECT_EQ(error.kind(), ErrorKind::damaged);
  EXPECT_STREQ(error.parameter(), "resume");
}

TEST(FailureTest, GivesExceptionsOfTheStandardLibraryAKindAndOneLine) {
  EXPECT_EQ(error_of([] { throw std::bad_alloc(); }).kind(), ErrorKind::out_of_resources);
  const Error missing =
      error_of([] { (void)std::filesystem::directory_iterator("/no/such/folder"); });
  EXPECT_EQ(missing.kind(), ErrorKind::not_found);
  EXPECT_STREQ(missing.what(), "/no/such/folder: cannot be used: No such file or directory");
  const Error mistake = error_of([] { throw std::logic_error("first line\nand more"); });
  EXPECT_EQ(mistake.kind(), ErrorKind::internal);
  EXPECT_STREQ(mistake.what(), "unexpected error: first line");
}

TEST(FailureTest, ExitsWithOneUnlessTheMistakeIsItsOwn) {
  for (const ErrorKind kind :
       {ErrorKind::bad_input, ErrorKind::not_found, ErrorKind::conflict, ErrorKind::unsupported,
        ErrorKind::damaged, ErrorKind::out_of_resources, ErrorKind::cancelled}) {
    EXPECT_EQ(exit_code_of(kind), 1) << name_of(kind);
  }
  EXPECT_EQ(exit_code_of(ErrorKind::internal), 70);
}

class FlagTest : public testing::Test {
 protected:
  FlagTest() {
    app_.add_subcommand("add")->add_flag("--skip-bad");
    app_.add_subcommand("info")->add_option("--root");
  }

  // The message of an error with a parameter after `command`.
  std::string line(const char* command, const char* parameter) {
    app_.parse(std::string(command));
    return with_flag(Error(ErrorKind::bad_input, "no", parameter), app_).what();
  }

 private:
  CLI::App app_;
};

TEST_F(FlagTest, IsNamedWhereTheCommandHasIt) {
  EXPECT_EQ(line("add", "skip_bad"), "no (--skip-bad skips it)");
  EXPECT_EQ(line("info", "root"), "no (--root)");
}

TEST_F(FlagTest, NamesTheCommandThatMakesACall) {
  EXPECT_EQ(line("info", "verify"), "no ('diml index verify' does)");
  EXPECT_EQ(line("add", "build_index"), "no ('diml index cache' does)");
}

TEST_F(FlagTest, NamesBothWhereWorkIsKept) {
  const Error bad(ErrorKind::bad_input, "a.jpg: is empty", "skip_bad");
  EXPECT_STREQ(with_work_kept(bad, "3 images are kept").what(),
               "a.jpg: is empty; 3 images are kept");
  EXPECT_STREQ(with_work_kept(bad, "").parameter(), "skip_bad_resume");
  EXPECT_STREQ(with_work_kept(Error("no"), "").parameter(), "resume");
  EXPECT_STREQ(with_work_kept(Error(ErrorKind::bad_input, "no", "model"), "").parameter(), "model");
}

TEST_F(FlagTest, IsNotNamedWhereTheCommandHasItNot) {
  EXPECT_EQ(line("info", "skip_bad"), "no");
  EXPECT_EQ(line("add", "root"), "no");
  EXPECT_EQ(line("add", ""), "no");
}

}  // namespace
}  // namespace diml::cli
