#include "diml/error.h"

#include <cerrno>
#include <filesystem>

#include "base/input_file.h"
#include "base/npy.h"
#include "base/output_file.h"
#include "base/refusal.h"
#include "base/system_error.h"
#include "base/temporary_folder.h"

namespace diml {
namespace {

using test::expect_refused;

TEST(ErrorTest, SaysNothingOfParametersAndKindsThatItWasNotTold) {
  const Error error("a line");
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_STREQ(error.parameter(), "");
}

TEST(ErrorTest, KeepsItsKindAndParameterInAnotherContext) {
  const Error inner(ErrorKind::conflict, "is there", "resume");
  const Error outer = with_context(inner, "a.jpg: ", ", alas");
  EXPECT_STREQ(outer.what(), "a.jpg: is there, alas");
  EXPECT_EQ(outer.kind(), ErrorKind::conflict);
  EXPECT_STREQ(outer.parameter(), "resume");
}

TEST(SystemErrorTest, HasTheKindOfItsErrno) {
  const auto kind = [](int code) {
    return name_of(system_error("x: cannot be read", code).kind());
  };
  EXPECT_STREQ(kind(ENOENT), "not_found");
  EXPECT_STREQ(kind(EEXIST), "conflict");
  EXPECT_STREQ(kind(ENOSYS), "unsupported");
  for (const int code : {ENOSPC, EDQUOT, EIO, EROFS, ENOMEM, EMFILE}) {
    EXPECT_STREQ(kind(code), "out_of_resources") << code;
  }
  EXPECT_STREQ(kind(EACCES), "bad_input");
  EXPECT_STREQ(kind(EBADF), "internal");
}

TEST(SystemErrorTest, TellsWhatFailedAndWhy) {
  EXPECT_STREQ(system_error("x: cannot be read", ENOENT).what(),
               "x: cannot be read: No such file or directory");
  EXPECT_STREQ(
      system_error("x: cannot be read", std::make_error_code(std::errc::no_such_file_or_directory))
          .what(),
      "x: cannot be read: No such file or directory");
}

TEST(SystemErrorTest, OfFilesHasTheirKind) {
  const test::TemporaryFolder folder;
  expect_refused([&] { read_file(folder / "none"); }, "none: cannot be opened",
                 ErrorKind::not_found);
  expect_refused([&] { NpyFile(folder / "none.npy"); }, "none.npy: cannot be opened",
                 ErrorKind::not_found);
  expect_refused([&] { OutputFile(folder / "none/file"); }, "cannot be written",
                 ErrorKind::not_found);
  expect_refused([&] { OutputFile(folder.path()); }, "is a folder", ErrorKind::bad_input);
  expect_refused([] { OutputFile("/dev/full").write("text"); }, "/dev/full: cannot be written",
                 ErrorKind::out_of_resources);
}

}  // namespace
}  // namespace diml
