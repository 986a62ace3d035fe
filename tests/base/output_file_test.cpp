#include "base/output_file.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"

namespace diml {
namespace {

using Names = std::vector<std::string>;

// Simulates a full disk: writing beyond `bytes` of a file fails during its lifetime.
class LargestFile {
 public:
  explicit LargestFile(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~LargestFile() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

class OutputFileTest : public testing::Test {
 protected:
  // Opening for writing throws Error with a message that names the path.
  static void expect_refused(const std::string& path) {
    try {
      const OutputFile file(path);
      FAIL() << path << " was opened";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }

  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "result";
};

TEST_F(OutputFileTest, AppearsWholeOnCommit) {
  const std::string binary("zero \0 inside", 13);
  OutputFile file(path_);
  EXPECT_EQ(file.path(), path_);
  file.write("first, ");
  file.write(binary.data(), binary.size());
  EXPECT_FALSE(std::filesystem::exists(path_)) << "before commit";
  file.commit();
  EXPECT_EQ(test::bytes_of(path_), "first, " + binary);
  EXPECT_EQ(folder_.names(), Names{"result"});
}

TEST_F(OutputFileTest, MayBeEmpty) {
  OutputFile file(path_);
  file.commit();
  EXPECT_EQ(test::bytes_of(path_), "");
}

TEST_F(OutputFileTest, LeavesNothingWithoutCommit) {
  {
    OutputFile file(path_);
    file.write("half of it");
  }
  EXPECT_EQ(folder_.names(), Names{});
}

TEST_F(OutputFileTest, ReplacesTheOldFileOnCommitAndNotBefore) {
  test::write_bytes(path_, "old");
  OutputFile file(path_);
  file.write("new");
  EXPECT_EQ(test::bytes_of(path_), "old");
  file.commit();
  EXPECT_EQ(test::bytes_of(path_), "new");
  EXPECT_EQ(folder_.names(), Names{"result"});
}

TEST_F(OutputFileTest, KeepsTheOldFileWithoutCommit) {
  test::write_bytes(path_, "old");
  {
    OutputFile file(path_);
    file.write("new");
  }
  EXPECT_EQ(test::bytes_of(path_), "old");
  EXPECT_EQ(folder_.names(), Names{"result"});
}

TEST_F(OutputFileTest, KeepsTheOldFileWhenTheDiskIsFull) {
  test::write_bytes(path_, "old");
  {
    OutputFile file(path_);
    const LargestFile disk(1000);
    EXPECT_THROW(file.write(std::string(3000, 'x')), Error);
  }
  EXPECT_EQ(test::bytes_of(path_), "old");
  EXPECT_EQ(folder_.names(), Names{"result"});
}

TEST_F(OutputFileTest, LeavesNothingBesideItsPlaceWhenThatIsTaken) {
  {
    OutputFile file(path_);
    file.write("text");
    ASSERT_TRUE(std::filesystem::create_directory(path_));  // no file can be renamed onto a folder
    EXPECT_THROW(file.commit(), Error);
  }
  EXPECT_EQ(folder_.names(), Names{"result"});
}

TEST_F(OutputFileTest, ReplacesTheFileBehindALinkAndKeepsTheLink) {
  test::write_bytes(folder_ / "real", "old");
  std::filesystem::create_symlink("real", path_);
  OutputFile file(path_);
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(test::bytes_of(folder_ / "real"), "new");
}

TEST_F(OutputFileTest, WritesIntoAPipeWithoutReplacingIt) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const int reader = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  OutputFile file(path_);
  file.write("text");
  file.commit();
  char received[8] = {};
  EXPECT_EQ(::read(reader, received, sizeof received), 4);
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
  EXPECT_EQ(folder_.names(), Names{"result"});
}

TEST_F(OutputFileTest, GetsPastWhatAKilledProcessOfItsNumberLeft) {
  const std::string leftover = path_ + ".tmp" + std::to_string(::getpid()) + ".0";
  test::write_bytes(leftover, "half of it");
  OutputFile file(path_);
  file.write("whole");
  file.commit();
  EXPECT_EQ(test::bytes_of(path_), "whole");
  EXPECT_EQ(test::bytes_of(leftover), "half of it");  // not ours to remove
}

TEST_F(OutputFileTest, LeavesNothingWhenTheProcessIsKilled) {
  const int probe = ::open(folder_.path().c_str(), O_TMPFILE | O_RDWR, 0600);
  if (probe < 0) GTEST_SKIP() << "this file system has no unnamed temporary files";
  ::close(probe);
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile file(path_);
    file.write("half of it");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the child came as far as its end";
  EXPECT_EQ(folder_.names(), Names{});
}

TEST_F(OutputFileTest, HasThePermissionsThatTheUmaskLeaves) {
  const mode_t before = ::umask(027);
  OutputFile file(path_);
  ::umask(before);
  file.commit();
  struct stat status {};
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(OutputFileTest, TakesANameInTheCurrentFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  OutputFile file("plain");
  file.write("text");
  file.commit();
  std::filesystem::current_path(before);
  EXPECT_EQ(test::bytes_of(folder_ / "plain"), "text");
}

TEST_F(OutputFileTest, SeveralMayBeOpenSideBySide) {
  OutputFile first(folder_ / "first");
  OutputFile second(folder_ / "second");
  second.write("2");
  first.write("1");
  first.commit();
  second.commit();
  EXPECT_EQ(test::bytes_of(folder_ / "first"), "1");
  EXPECT_EQ(test::bytes_of(folder_ / "second"), "2");
  EXPECT_EQ(folder_.names(), (Names{"first", "second"}));
}

TEST_F(OutputFileTest, RefusesAMissingFolder) {
  expect_refused(folder_ / "missing/result");
  EXPECT_EQ(folder_.names(), Names{});
}

TEST_F(OutputFileTest, RefusesAFileWhereAFolderShouldBe) {
  test::write_bytes(path_, "no folder");
  expect_refused(path_ + "/result");
}

TEST_F(OutputFileTest, RefusesAFolder) { expect_refused(folder_.path()); }

TEST_F(OutputFileTest, RefusesAnEmptyName) { EXPECT_THROW(OutputFile(""), Error); }

TEST_F(OutputFileTest, RefusesANameThatIsTooLong) {
  expect_refused(folder_ / std::string(300, 'x'));
}

}  // namespace
}  // namespace diml
