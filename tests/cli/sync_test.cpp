// `diml index sync`: a gallery follows its folder of photos.

#include <chrono>
#include <csignal>
#include <filesystem>

#include <unistd.h>

#include "cli/photo_folder.h"
#include "diml/gallery.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// photos/004.Critter and its two siblings, four photos each, in the gallery g.
class Sync : public PhotoFolder {
 protected:
  Sync() {
    for (std::size_t k = 0; k < kTest; ++k) put_photo(k, name_of_photo(k));
  }

  static std::string below(std::size_t k) {
    return std::string(k < 4 ? "ant" : k < 8 ? "bee" : "cat") + "/" + std::to_string(k) + ".jpg";
  }
  static std::string name_of_photo(std::size_t k) { return "photos/" + below(k); }
  std::string place(std::size_t k) const { return fs::absolute(at(name_of_photo(k))).string(); }

  void build() const {
    run_well({"index", "build", "g", "--model", "small.safetensors", "--dataset", "folder",
              "--root", "photos"});
  }
  // As an older diml left it: no item has a record of its file.
  void forget_sources() const {
    const auto store = open_gallery(at("g"), StoreAccess::write);
    std::vector<NewItem> items;
    GridSet grids(kTest, 16, kDim, store->format().type);
    {
      const auto snapshot = store->snapshot();
      std::size_t k = 0;
      for (const std::int64_t id : snapshot->ids()) {
        const Item item = snapshot->item(id);
        items.push_back({item.path, item.label, item.metadata, snapshot->thumbnail(id)});
        grids.put(k++, snapshot->grid(id));
      }
    }
    store->add(items, grids.view(), Duplicates::replace);
  }
  Json synced(const Arguments& more = {}) const {
    Arguments arguments = {"index", "sync", "g", "photos", "--json", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(run_well(arguments));
  }
  std::optional<Item> item(std::size_t k) const {
    const auto snapshot = open_gallery(at("g"))->snapshot();
    const auto id = snapshot->find(place(k));
    return id ? std::optional(snapshot->item(*id)) : std::nullopt;
  }
  std::uint64_t revision() const { return open_gallery(at("g"))->snapshot()->revision(); }
  void touch(std::size_t k) const {
    const std::string path = at(name_of_photo(k));
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::hours(1));
  }
  static void expect(const Json& done, const std::map<std::string, int>& numbers) {
    for (const char* name : {"added", "replaced", "removed", "labels", "metadata", "touched",
                             "without_record", "bad", "unreadable", "kept_labels"}) {
      const auto wanted = numbers.find(name);
      EXPECT_EQ(done.at(name), wanted == numbers.end() ? 0 : wanted->second) << name << done;
    }
  }
};

TEST_F(Sync, AFolderWithoutChangesChangesNothing) {
  build();
  ASSERT_TRUE(item(0)->source);
  EXPECT_EQ(item(0)->source->size, fs::file_size(place(0)));
  const std::uint64_t before = revision();
  const Json done = synced();
  expect(done, {});
  EXPECT_EQ(done.at("unchanged"), kTest);
  EXPECT_EQ(revision(), before);
}

TEST_F(Sync, AddsReplacesRemovesAndLeavesTheRest) {
  build();
  const std::int64_t kept = item(1)->id;
  const std::int64_t changed = item(2)->id;
  put_photo(9, name_of_photo(2));  // another picture under an old name
  put_photo(0, "photos/bee/new.jpg");
  fs::remove(place(11));
  touch(5);
  const std::uint64_t before = revision();

  const ProgramResult dry = run({"index", "sync", "g", "photos", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_NE(
      dry.out.find("add       " + fs::absolute(at("photos/bee/new.jpg")).string() + "  (bee)"),
      std::string::npos)
      << dry.out;
  EXPECT_NE(dry.out.find("replace   " + place(2)), std::string::npos) << dry.out;
  EXPECT_NE(dry.out.find("remove    " + place(11)), std::string::npos) << dry.out;
  EXPECT_NE(dry.out.find("touch     " + place(5)), std::string::npos) << dry.out;
  EXPECT_NE(dry.out.find("dry run: 1 added, 1 replaced, 1 removed"), std::string::npos) << dry.out;
  EXPECT_EQ(revision(), before);

  const Json done = synced();
  expect(done, {{"added", 1}, {"replaced", 1}, {"removed", 1}, {"touched", 1}});
  EXPECT_EQ(done.at("items"), kTest);
  EXPECT_FALSE(item(11));
  EXPECT_EQ(item(1)->id, kept);
  EXPECT_NE(item(2)->id, changed);
  EXPECT_EQ(item(2)->label, "ant");
  expect(synced(), {});  // the new time is recorded too
  // The changed photo is found by its new content.
  const Json hits =
      Json::parse(run_well({"search", "g", name_of_photo(2), "--top", "2", "--json", "-"}));
  EXPECT_NEAR(hits.at("queries")[0].at("hits")[1].at("global").get<double>(), 1.0, 1e-4);
}

TEST_F(Sync, AChangedPhotoKeepsItsMetadataAndItsEditedLabel) {
  build();
  put_text("m.jsonl",
           "{\"path\": \"ant/2.jpg\", \"label\": \"queen\", \"metadata\": {\"n\": 1}}\n");
  expect(synced({"--metadata", "m.jsonl"}), {{"labels", 1}, {"metadata", 1}});
  put_photo(9, name_of_photo(2));
  expect(synced(), {{"replaced", 1}, {"kept_labels", 1}});
  EXPECT_EQ(item(2)->label, "queen");
  EXPECT_EQ(item(2)->metadata, "{\"n\":1}");
  expect(synced({"--labels", "set"}), {{"labels", 1}});
  EXPECT_EQ(item(2)->label, "ant");
}

TEST_F(Sync, WordsAreUpdatedWithoutTheNetwork) {
  run_well({"index", "build", "g", "--model", "small.safetensors", "--images", "photos"});
  EXPECT_EQ(item(4)->label, "");
  fs::remove(at("small.safetensors"));
  const std::int64_t id = item(4)->id;
  put_text("m.jsonl",
           "{\"path\": \"bee/4.jpg\", \"metadata\": {\"price\": 3}}\n"
           "{\"path\": \"" +
               place(5) +
               "\", \"label\": \"wasp\"}\n"
               "{\"path\": \"bee/none.jpg\", \"label\": \"wasp\"}\n");
  const ProgramResult result =
      run({"index", "sync", "g", "photos", "--metadata", "m.jsonl", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect(Json::parse(result.out), {{"labels", kTest}, {"metadata", 1}});
  EXPECT_NE(result.err.find("m.jsonl: 1 of 3 paths name none of these images"), std::string::npos)
      << result.err;
  EXPECT_EQ(item(4)->id, id);
  EXPECT_EQ(item(4)->label, "bee");
  EXPECT_EQ(item(4)->metadata, "{\"price\":3}");
  EXPECT_EQ(item(5)->label, "wasp");
  expect(synced({"--metadata", "m.jsonl", "--labels", "ignore"}), {});
}

TEST_F(Sync, NeverTouchesItemsFromElsewhere) {
  build();
  put_photo(0, "photos2/a.jpg");  // begins with the same letters
  run_well({"index", "add", "g", "--images", "photos2"});
  fs::remove_all(at("photos2"));
  fs::remove(place(0));
  const Json done = synced();
  expect(done, {{"removed", 1}});
  EXPECT_EQ(done.at("elsewhere"), 1);
  EXPECT_EQ(done.at("items"), kTest);
}

TEST_F(Sync, AnEmptyOrMissingFolderEmptiesNoGallery) {
  build();
  fs::rename(at("photos"), at("away"));
  expect_refused({"index", "sync", "g", "photos"},
                 {"photos: is not there", "12 of the 12 images", "nothing was changed", "--force"});
  fs::create_directory(at("photos"));
  expect_refused({"index", "sync", "g", "photos"}, {"has no photos any more", "--force"});
  put_photo(0, name_of_photo(0));
  expect_refused({"index", "sync", "g", "photos"}, {"misses most photos", "11 of the 12"});
  expect_refused({"index", "sync", "g", "nowhere"}, {"nowhere: is not there"});
  EXPECT_EQ(open_gallery(at("g"))->snapshot()->size(), kTest);
  expect(synced({"--force"}), {{"removed", 11}, {"touched", 1}});
}

TEST_F(Sync, ItemsWithoutARecordAreEmbeddedAgainAndCompared) {
  build();
  put_photo(9, name_of_photo(2));
  forget_sources();
  ASSERT_FALSE(item(1)->source);
  const std::int64_t kept = item(1)->id;
  const Json done = synced();
  expect(done, {{"replaced", 1}, {"without_record", kTest}});
  EXPECT_EQ(item(1)->id, kept);
  EXPECT_TRUE(item(1)->source);
  EXPECT_EQ(item(2)->label, "ant");
  expect(synced(), {});
  forget_sources();
  fs::remove(at("small.safetensors"));  // no network is needed for what is assumed
  expect(synced({"--assume-unchanged"}), {{"without_record", kTest}});
  expect(synced(), {});
}

TEST_F(Sync, PicturesThatArePassedOverAreCounted) {
  build();
  put_text("photos/ant/raw.cr2", "raw");
  put_text("photos/ant/notes.txt", "no picture");
  const ProgramResult result = run({"index", "sync", "g", "photos", "--json", "-"});
  EXPECT_NE(result.err.find("photos: 1 picture is left out: 1 .cr2"), std::string::npos)
      << result.err;
  expect(Json::parse(result.out), {{"unreadable", 1}});
}

TEST_F(Sync, ABadPhotoStopsItOrIsSkippedAndTheOldOneStays) {
  build();
  put_text(name_of_photo(3), "half a photo");
  const std::int64_t before = item(3)->id;
  expect_refused({"index", "sync", "g", "photos"}, {name_of_photo(3), "--skip-bad"});
  const Json done = synced({"--skip-bad"});
  expect(done, {{"bad", 1}});
  EXPECT_EQ(item(3)->id, before);
}

TEST_F(Sync, GoesOnAfterAnInterruption) {
  build();
  for (std::size_t k = 0; k < 400; ++k)
    put_photo(k % kTest, "photos/more/" + std::to_string(k) + ".jpg");
  ProgramSettings settings;
  settings.meanwhile = [&](int process) {
    while (::kill(process, 0) == 0) {
      if (open_gallery(at("g"))->snapshot()->size() > kTest) break;
      ::usleep(1000);
    }
    ::kill(process, SIGINT);
  };
  const ProgramResult stopped = run({"index", "sync", "g", "photos"}, settings);
  const std::size_t kept = open_gallery(at("g"))->snapshot()->size();
  if (stopped.exit_code == 0) GTEST_SKIP() << "it was done before the signal came";
  EXPECT_NE(stopped.err.find("which are kept: the same command continues"), std::string::npos)
      << stopped.err;
  EXPECT_GT(kept, kTest);
  const Json done = synced();
  EXPECT_EQ(done.at("added"), kTest + 400 - kept);
  EXPECT_EQ(done.at("items"), kTest + 400);
}

TEST_F(Sync, AddUpdatesTheWordsOfPhotosThatAreThere) {
  run_well({"index", "build", "g", "--model", "small.safetensors", "--images", "photos"});
  const std::int64_t id = item(0)->id;
  put_text("m.jsonl", "{\"path\": \"" + name_of_photo(0) + "\", \"metadata\": {\"price\": 3}}\n");
  const Arguments add = {"index",  "add",    "g",          "--dataset", "folder",
                         "--root", "photos", "--metadata", "m.jsonl"};
  EXPECT_NE(run_well(add).find("0 images added, 12 were there already (12 got another label or "
                               "metadata)"),
            std::string::npos);
  EXPECT_EQ(item(0)->id, id);
  EXPECT_EQ(item(0)->label, "ant");
  EXPECT_EQ(item(0)->metadata, "{\"price\":3}");
  put_photo(9, name_of_photo(1));
  const ProgramResult again = run(add);
  EXPECT_NE(again.out.find("12 were there already (0 got another"), std::string::npos) << again.out;
  EXPECT_NE(again.err.find("1 of the images that were there changed on disk"), std::string::npos)
      << again.err;
  run_well({"index", "add", "g", "--images", "photos", "--replace"});
  EXPECT_EQ(item(0)->label, "ant");  // what is embedded again keeps its words
  EXPECT_EQ(item(0)->metadata, "{\"price\":3}");
  put_text("m.jsonl", "{\"path\": \"" + name_of_photo(0) + "\", \"label\": null}\n");
  run_well({"index", "add", "g", "--images", "photos", "--metadata", "m.jsonl"});
  EXPECT_EQ(item(0)->label, "");
}

}  // namespace
}  // namespace diml::test
