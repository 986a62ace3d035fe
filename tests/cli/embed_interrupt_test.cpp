// Long work that is interrupted and continues.

#include <chrono>
#include <fstream>
#include <thread>

#include <signal.h>

#include "cli/photo_folder.h"

namespace diml::test {
namespace {

class EmbedInterrupted : public PhotoFolder {
 protected:
  static constexpr std::size_t kImages = 2000;

  EmbedInterrupted() {
    std::string list;
    const std::vector<std::string> all = photos();
    for (std::size_t i = 0; i < kImages; ++i) list += all[i * i % all.size()] + "\n";
    put_text("list.txt", list);
  }

  // Small pictures and one thread: slow enough to be interrupted, fast enough for a test.
  static Arguments embed_list(const std::string& out, const Arguments& more = {}) {
    Arguments arguments = embed({"--images", "list.txt", "--out", out, "--threads", "1", "--crop",
                                 "32", "--resize", "32", "--grid", "2"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  std::size_t noted(const std::string& prefix) const {
    std::ifstream state(at(prefix + ".partial/state"));
    std::string name;
    std::string value;
    while (state >> name >> value) {
      if (name == "done") return std::stoul(value);
    }
    return 0;
  }

  ProgramResult run_until_noted(const std::string& prefix, int signal) const {
    return run(embed_list(prefix), {.meanwhile = [&, signal](int process) {
                 for (int wait = 0; wait < 60'000 && noted(prefix) == 0; ++wait) {
                   std::this_thread::sleep_for(std::chrono::milliseconds(1));
                 }
                 ::kill(process, signal);
               }});
  }
};

TEST_F(EmbedInterrupted, GoesOnToTheSameFiles) {
  run_well(embed_list("whole"));
  const auto whole = files_of("whole");
  ASSERT_EQ(whole.size(), 4u);

  const ProgramResult stopped = run_until_noted("stopped", SIGINT);
  EXPECT_EQ(stopped.exit_code, 1);
  const std::size_t done = noted("stopped");
  EXPECT_EQ(stopped.err, "diml embed: stopped after " + std::to_string(done) +
                             " of 2000 images: the same command with --resume continues\n");
  EXPECT_GT(done, 0u);
  EXPECT_LT(done, kImages);
  EXPECT_EQ(files_of("stopped").size(), 1u);  // the folder of what is not whole
  expect_refused(embed_list("stopped"), {"stopped.partial", "--resume"});
  expect_refused(embed_list("stopped", {"--resume", "--pooling", "roi_align"}),
                 {"stopped.partial", "other options"});
  run_well(embed_list("stopped", {"--resume"}));
  EXPECT_EQ(files_of("stopped"), whole);

  const ProgramResult killed = run_until_noted("killed", SIGKILL);
  EXPECT_EQ(killed.exit_code, 128 + SIGKILL);
  EXPECT_EQ(files_of("killed").size(), 1u);
  EXPECT_GT(noted("killed"), 0u);
  run_well(embed_list("killed", {"--resume"}));
  EXPECT_EQ(files_of("killed"), whole);
}

TEST_F(EmbedInterrupted, AFullDiskLosesNothingThatWasWhole) {
  // Long paths: their file reaches the limit first, in the middle of a block whose cells are
  // already written.
  std::string longer;
  while (longer.size() < 400) longer += "./";
  std::string list;
  for (std::size_t i = 0; i < 80; ++i) list += longer + photos()[i % kTest] + "\n";
  put_text("list.txt", list);
  run_well(embed_list("whole"));
  const ProgramResult full = run(embed_list("e"), {.largest_file = 50 * longer.size()});
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.err,
            "diml embed: e.partial/paths.txt: cannot be written: File too large; 32 of 80 images "
            "are kept in e.partial (--resume continues it)\n");
  EXPECT_EQ(noted("e"), 32u);
  run_well(embed_list("e", {"--resume"}));
  EXPECT_EQ(files_of("e"), files_of("whole"));
}

TEST_F(EmbedInterrupted, ABadImageLateInTheListKeepsWhatCameBefore) {
  std::string list;
  for (std::size_t i = 0; i < 40; ++i) list += photos()[i % kTest] + "\n";
  put_text("list.txt", list + "bad.jpg\n" + photos()[0] + "\n");
  put_text("bad.jpg", "");
  const ProgramResult result = run(embed_list("e"));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err,
            "diml embed: bad.jpg: is empty; 40 of 42 images are kept in e.partial (--skip-bad "
            "--resume skips it and goes on)\n");
  EXPECT_EQ(noted("e"), 40u);
  run_well(embed_list("e", {"--skip-bad", "--resume"}));
  run_well(embed_list("whole", {"--skip-bad"}));
  EXPECT_EQ(files_of("e"), files_of("whole"));
  EXPECT_EQ(shape_of("e.globals.npy")[0], 41u);
}

}  // namespace
}  // namespace diml::test
