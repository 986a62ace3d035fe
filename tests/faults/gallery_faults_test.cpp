// The n-th allocation, write, sync or rename of a call fails, alone or with all that follow: the
// call says so, the gallery is as it was or as the call makes it, and the next call works.

#include <cstdlib>
#include <filesystem>
#include <functional>

#include <sys/wait.h>
#include <unistd.h>

#include "diml/error.h"
#include "diml/searcher.h"
#include "faults/failing_calls.h"
#include "faults/gallery_state.h"
#include "gallery/gallery_folder.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

class GalleryFaults : public GalleryFolder {
 protected:
  GalleryFaults() {
    const std::shared_ptr<GridStore> store = create_gallery(at("whole"), format());
    store->add(some_items(0, kImages), some(0, kImages));
    back_up_gallery(at("whole"), at("backup"));
    store->add(some_items(0, 20), some(0, 20), Duplicates::replace);
    store->remove(std::vector<std::int64_t>{22, 25});
  }

  std::string at(const std::string& name) const { return folder_ / name; }

  std::vector<NewItem> some_items(std::size_t first, std::size_t count) const {
    std::vector<NewItem> made = items(first, count);
    for (std::size_t i = 0; i < count; i += 9) made[i].thumbnail.resize(9000, 1);
    return made;
  }

  void put_back() const {
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (name != "whole" && name != "backup") fs::remove_all(entry.path());
    }
    fs::copy(at("whole"), at("g"));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      // An empty folder is no gallery, and a new one may be made in it.
      if (entry.is_directory() && fs::is_empty(entry.path())) continue;
      found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  enum Ending { kDone, kRefused, kNoMemory };
  struct Trial {
    bool ended = false;  // not by a signal
    int signal = 0;
    Ending ending = kDone;
    bool has_failed = false;  // a call of the C library
  };

  Trial attempt(const std::function<void()>& action, Call call, long before, long count) const {
    constexpr int kHit = 64;
    const pid_t child = ::fork();
    if (child == 0) {
      Fault fault(call, before, count);
      int ending = kDone;
      try {
        action();
      } catch (const Error&) {
        ending = kRefused;
      } catch (const std::bad_alloc&) {
        ending = kNoMemory;
      }
      fault.end();
      ::_exit(ending + (fault.failed() > 0 ? kHit : 0));
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status)) return {.signal = WTERMSIG(status)};
    const int code = WEXITSTATUS(status);
    return {true, 0, static_cast<Ending>(code % kHit), code >= kHit};
  }

  // place: where the result of the action lies. DIML_FAULTS=all: each n; else fewer and fewer.
  // holds: what is asked after each call.
  void sweep(
      const std::function<void()>& action, const std::string& place = "g",
      const std::function<bool()>& holds = [] { return true; }) const {
    put_back();
    Sweep sweep{action, at(place), state_of(at(place)), "", {}, holds};
    action();
    sweep.after = state_of(at(place));
    ASSERT_EQ(sweep.after.find("damaged"), std::string::npos) << sweep.after;
    sweep.names_after = names();
    for (const Call call : {Call::allocation, Call::write, Call::sync, Call::rename}) {
      for (const long count : {1L, kAllThatFollow}) run(sweep, call, count);
    }
  }

  struct Sweep {
    std::function<void()> action;
    std::string place;
    std::string before, after;             // the states of the gallery there
    std::vector<std::string> names_after;  // beside it
    std::function<bool()> holds;
  };

  void run(const Sweep& sweep, Call call, long count) const {
    const auto& [action, place, before, after, names_after, holds] = sweep;
    const bool all = std::getenv("DIML_FAULTS") != nullptr;
    for (long n = 0;; n += all ? 1 : 1 + n / 3) {
      SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)) + ", after " +
                   std::to_string(n) + (count == 1 ? "" : " and all that follow"));
      put_back();
      const std::vector<std::string> names_before = names();
      const Trial trial = attempt(action, call, n, count);
      ASSERT_TRUE(trial.ended) << "signal " << trial.signal;
      const std::string now = state_of(place);
      ASSERT_TRUE(now == before || now == after) << now.substr(0, 200);
      ASSERT_TRUE(holds());
      if (trial.ending == kDone) {
        ASSERT_TRUE(now == after) << "it was not done";
      } else if (now == before && before != after) {
        // What was half made is gone; without any memory it may be left.
        const bool may_leave = call == Call::allocation && count > 1;
        if (!may_leave) {
          ASSERT_EQ(names(), names_before);
        }
        action();
        ASSERT_TRUE(state_of(place) == after) << "the next call does not work";
        if (!may_leave) {
          ASSERT_EQ(names(), names_after);
        }
      }
      if (!trial.has_failed) {
        ASSERT_EQ(trial.ending, kDone);
        return;
      }
    }
  }
};

TEST_F(GalleryFaults, WhereAGalleryIsMade) {
  sweep([&] { create_gallery(at("new"), format()); }, "new");
}

TEST_F(GalleryFaults, WhereItemsAreAdded) {
  sweep([&] {
    open_gallery(at("g"), StoreAccess::write)
        ->add(some_items(15, 10), some(15, 10), Duplicates::replace);
  });
}

TEST_F(GalleryFaults, WhereItemsAreUpdated) {
  sweep([&] {
    const std::vector<ItemUpdate> updates = {{.id = 30, .label = "new"},
                                             {.id = 31, .metadata = R"({"a": [1, "b"]})"}};
    open_gallery(at("g"), StoreAccess::write)->update(updates);
  });
}

TEST_F(GalleryFaults, WhereItemsAreRemoved) {
  sweep([&] {
    open_gallery(at("g"), StoreAccess::write)->remove(std::vector<std::int64_t>{27, 40});
  });
}

TEST_F(GalleryFaults, WhereItIsSearchedAndVerified) {
  sweep([&] {
    const std::shared_ptr<GridStore> store = open_gallery(at("g"));
    const Searcher searcher(store, {"exact", Backend::cpu, 1});
    const std::vector<std::string> conditions = {"number>3"};
    const auto hits = searcher.search(some(5, 1), 5, {}, {.rerank = 8}, Filter(conditions));
    if (hits[0].empty() || !store->snapshot()->verify().faults.empty()) std::abort();
  });
}

TEST_F(GalleryFaults, WhereABackupIsMade) {
  sweep([&] { back_up_gallery(at("g"), at("copy")); }, "copy");
}

// Wherever the gallery lies then that was replaced, it is not lost.
TEST_F(GalleryFaults, WhereABackupIsRestored) {
  const std::string old = state_of(at("whole"));
  const auto is_kept = [&] {
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      const bool is_other = entry.path() != at("whole") && entry.path() != at("backup");
      if (is_other && entry.is_directory() && state_of(entry.path().string()) == old) return true;
    }
    return false;
  };
  sweep([&] { restore_gallery(at("backup"), at("g")); }, "g", is_kept);
}

TEST_F(GalleryFaults, WhereItIsCompacted) {
  sweep([&] { compact_gallery(at("g")); });
}

TEST_F(GalleryFaults, WhereWhatIsWholeIsTakenOut) {
  sweep([&] { salvage_gallery(at("g"), at("salvaged")); }, "salvaged");
}

}  // namespace
}  // namespace diml::test
