// Several processes give the same embeddings as one.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <signal.h>

#include "cli/photo_folder.h"
#include "cli/two_processes.h"

namespace diml::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class EmbedRanks : public PhotoFolder {
 protected:
  EmbedRanks() { put_list(300); }

  // Several blocks for each process, and a last one that is short.
  void put_list(std::size_t images, const std::string& last = "") const {
    const std::vector<std::string> all = photos();
    std::string list;
    for (std::size_t i = 0; i < images; ++i) list += all[i * i % all.size()] + "\n";
    put_text("list.txt", list + last);
  }

  static Arguments embed_list(const std::string& out, const Arguments& more = {}) {
    Arguments arguments = embed({"--images", "list.txt", "--out", out, "--threads", "1", "--crop",
                                 "32", "--resize", "32", "--grid", "2"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  std::vector<ProgramResult> run_both(
      const Arguments& first, const Arguments& second,
      const std::function<void(std::size_t rank, int process)>& meanwhile = {}) const {
    return run_two([&](const ProgramSettings& settings) { return run(first, settings); },
                   [&](const ProgramSettings& settings) { return run(second, settings); },
                   meanwhile);
  }
  std::vector<ProgramResult> run_both(
      const Arguments& arguments,
      const std::function<void(std::size_t rank, int process)>& meanwhile = {}) const {
    return run_both(arguments, arguments, meanwhile);
  }

  void run_both_well(const Arguments& arguments) const {
    const std::vector<ProgramResult> both = run_both(arguments);
    for (const ProgramResult& result : both) EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_NE(both[0].out, "");
    EXPECT_EQ(both[1].out + both[1].err, "");  // one of them speaks
  }

  // Sends the signal to one of them once some of the work is on disk.
  std::vector<ProgramResult> run_until_noted(const std::string& out, std::size_t rank,
                                             int signal) const {
    return run_both(embed_list(out), [&](std::size_t of, int process) {
      if (of != rank) return;
      // Once the first images are on disk.
      const std::string cells = at(out + ".partial/paths.txt");
      for (int wait = 0; wait < 60'000 && (!fs::exists(cells) || fs::file_size(cells) == 0);
           ++wait) {
        std::this_thread::sleep_for(1ms);
      }
      EXPECT_TRUE(ignores(process, SIGPIPE)) << "a write to the other one may kill it unheard";
      ::kill(process, signal);
    });
  }

  static bool ignores(int process, int signal) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string word; status >> word;) {
      if (word != "SigIgn:") continue;
      status >> word;
      return ((std::stoull(word, nullptr, 16) >> (signal - 1)) & 1u) != 0;
    }
    return false;
  }

  static void expect_one_line(const ProgramResult& result, const std::vector<std::string>& named) {
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "not one line: " << result.err;
    for (const std::string& name : named) {
      EXPECT_NE(result.err.find(name), std::string::npos)
          << "no '" << name << "' in " << result.err;
    }
  }
};

TEST_F(EmbedRanks, TheirFilesAreThoseOfOne) {
  run_well(embed_list("one"));
  run_both_well(embed_list("two"));
  const auto one = files_of("one");
  EXPECT_EQ(one.size(), 4u);
  EXPECT_EQ(files_of("two"), one);

  put_list(5);  // the second has nothing to do
  run_well(embed_list("few"));
  run_both_well(embed_list("few2"));
  EXPECT_EQ(files_of("few2"), files_of("few"));
}

TEST_F(EmbedRanks, BadImagesAreLeftOutByAll) {
  put_text("bad.jpg", "");
  const std::vector<std::string> all = photos();
  std::string list;
  for (std::size_t i = 0; i < 200; ++i) list += (i % 7 == 3 ? "bad.jpg" : all[i % kTest]) + "\n";
  put_text("list.txt", list);
  run_well(embed_list("one", {"--skip-bad"}));
  for (const ProgramResult& result : run_both(embed_list("two", {"--skip-bad"}))) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(files_of("one").size(), 5u);  // with .bad.txt
  EXPECT_EQ(files_of("two"), files_of("one"));
}

TEST_F(EmbedRanks, ABadImageOfOneIsToldByAll) {
  put_text("bad.jpg", "");
  put_list(100, "bad.jpg\n");  // in the second block
  for (const ProgramResult& result : run_both(embed_list("e"))) {
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.err, "diml embed: bad.jpg: is empty (--skip-bad skips it)\n");
  }
}

TEST_F(EmbedRanks, OneThatIsStoppedStopsAllAndTheyGoOn) {
  put_list(4000);
  run_well(embed_list("whole"));
  const std::vector<ProgramResult> both = run_until_noted("stopped", 1, SIGINT);
  expect_one_line(both[0], {"stopped after ", " of 4000 images", "--resume"});
  expect_one_line(both[1], {"stopped", "--resume"});
  EXPECT_EQ(files_of("stopped").size(), 1u);  // the folder of what is not whole
  run_both_well(embed_list("stopped", {"--resume"}));
  EXPECT_EQ(files_of("stopped"), files_of("whole"));
}

TEST_F(EmbedRanks, OneThatDiesEndsTheOtherAndOneAloneGoesOn) {
  put_list(4000);
  run_well(embed_list("whole"));
  for (const std::size_t rank : {0u, 1u}) {
    const std::string out = "died" + std::to_string(rank);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<ProgramResult> both = run_until_noted(out, rank, SIGKILL);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);  // not by the timeout
    EXPECT_EQ(both[rank].exit_code, 128 + SIGKILL);
    expect_one_line(both[1 - rank], {"process " + std::to_string(1 - rank) + " of 2",
                                     "one of them has ended", "(--resume continues it)"});
    run_well(embed_list(out, {"--resume"}));
    EXPECT_EQ(files_of(out), files_of("whole"));
  }
}

TEST_F(EmbedRanks, ProcessesWithOtherOptionsAreRefused) {
  for (const ProgramResult& result :
       run_both(embed_list("e"), embed_list("e", {"--pooling", "roi_align"}))) {
    expect_one_line(result, {"has other images, another model or other options"});
  }
  EXPECT_TRUE(files_of("e").empty());
}

TEST_F(EmbedRanks, EvaluationOfANetworkIsThatOfOne) {
  const Arguments more = {"--dataset", "critters", "--root", "critters", "--threads", "1"};
  const nlohmann::json one = evaluated_photos(more);
  Arguments arguments = {"evaluate", "--model", "small.safetensors", "--json", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const std::vector<ProgramResult> both = run_both(arguments);
  for (const ProgramResult& result : both) EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(both[1].out + both[1].err, "");
  nlohmann::json two = nlohmann::json::parse(both[0].out);
  two.erase("seconds");
  EXPECT_EQ(two, one);
}

}  // namespace
}  // namespace diml::test
