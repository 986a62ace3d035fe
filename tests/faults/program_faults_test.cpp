// The n-th write, sync or rename of a command fails, alone or with all that follow: the command
// says so in one line, what it writes is there as before or whole, and the next call works.

#include <cstdlib>
#include <filesystem>
#include <map>

#include "cli/gallery_files.h"
#include "faults/failing_calls.h"
#include "faults/gallery_state.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

class ProgramFaults : public GalleryFiles {
 protected:
  ProgramFaults() : plan_(folder_ / "plan") {
    run_well({"generate", "--images", "20", "--classes", "4", "--grid", "2", "--dim",
              std::to_string(kDim), "--seed", "7", "--out", "more"});
  }

  // Every file by its name; of a gallery, what it holds.
  std::map<std::string, std::string> state() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (name == "plan") continue;
      files[name] =
          entry.is_directory() ? state_of(entry.path().string()) : bytes_of(entry.path().string());
    }
    return files;
  }

  void put_back(const std::string& saved) const {
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path().filename() != "plan") fs::remove_all(entry.path());
    }
    fs::copy(saved, folder_.path(), fs::copy_options::recursive);
  }

  // results: the files that the command writes. DIML_FAULTS=all: each n; else fewer and fewer.
  void sweep(const Arguments& command, const std::vector<std::string>& results) {
    const TemporaryFolder saved;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      if (entry.path().filename() == "plan") continue;
      fs::copy(entry.path(), saved.path() + "/" + entry.path().filename().string(),
               fs::copy_options::recursive);
    }
    const auto before = state();
    run_well(command);
    const auto after = state();
    for (const Call call : {Call::write, Call::sync, Call::rename}) {
      for (const long count : {1L, kAllThatFollow}) {
        const bool all = std::getenv("DIML_FAULTS") != nullptr;
        for (long n = 0;; n += all ? 1 : 1 + n / 4) {
          SCOPED_TRACE(command[0] + " " + command[1] + ", call " +
                       std::to_string(static_cast<int>(call)) + ", after " + std::to_string(n) +
                       (count == 1 ? "" : " and all that follow"));
          put_back(saved.path());
          Fault fault(call, n, count, plan_.plan());
          const ProgramResult result =
              run(command, {.environment = {std::string("LD_PRELOAD=") + DIML_FAILING_CALLS,
                                            "DIML_FAULT_PLAN=" + at("plan")}});
          fault.end();
          const auto now = state();
          ASSERT_TRUE(result.exit_code == 0 || result.exit_code == 1)
              << result.exit_code << result.err;
          const auto of = [](const auto& files, const std::string& name) {
            const auto found = files.find(name);
            return found == files.end() ? std::string("none") : found->second;
          };
          for (const std::string& name : results) {
            // A new gallery may be left empty: a disk that takes nothing lets nobody open and
            // remove it.
            const bool is_left_empty = of(now, name) == "0" && of(before, name) == "none";
            ASSERT_TRUE(
                of(now, name) == of(after, name) ||
                (result.exit_code == 1 && (of(now, name) == of(before, name) || is_left_empty)))
                << name << ": " << of(now, name).substr(0, 100);
          }
          for (const auto& [name, bytes] : now) {
            ASSERT_TRUE(before.contains(name) || after.contains(name)) << name << " is left";
          }
          if (result.exit_code == 1) {
            EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
            EXPECT_EQ(result.err.find("diml "), 0u) << result.err;
          }
          if (fault.failed() == 0) {
            ASSERT_EQ(result.exit_code, 0) << result.err;
            break;
          }
        }
      }
    }
  }

  SharedPlan plan_;
};

TEST_F(ProgramFaults, OfAGallery) {
  run_well(build());
  sweep({"index", "build", "h", "--embeddings", "c"}, {"h"});
  sweep({"index", "remove", "g", "--ids", "3,4"}, {"g"});
  sweep({"index", "export", "g", "--out", "e"},
        {"e.cells.npy", "e.globals.npy", "e.labels.npy", "e.paths.txt"});
  sweep({"index", "backup", "g", "b"}, {"b"});
  sweep({"index", "compact", "g"}, {"g"});
}

TEST_F(ProgramFaults, OfFiles) {
  sweep({"evaluate", "--cells", "c.cells.npy", "--globals", "c.globals.npy", "--labels",
         "c.labels.npy", "--rerank", "0,10", "--html", "page.html", "--per-query", "queries.csv"},
        {"page.html", "queries.csv"});
  sweep({"generate", "--images", "20", "--classes", "4", "--grid", "2", "--dim", "16", "--seed",
         "9", "--out", "more"},
        {"more.cells.npy", "more.globals.npy", "more.labels.npy"});
}

}  // namespace
}  // namespace diml::test
