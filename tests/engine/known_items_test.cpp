// What a gallery knows of the files of its items, and what changes without embedding.

#include "engine/known_items.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/output_file.h"
#include "base/temporary_folder.h"
#include "engine/source_file.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path, const std::string& bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

void make_later(const std::string& path) {
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::hours(1));
}

TEST(SourceFile, ATouchedFileIsNoChangedFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.jpg";
  write(path, "photo");
  const std::optional<SourceFile> then = source_of(path, *glance_at(path));
  ASSERT_TRUE(then);
  EXPECT_EQ(then->size, 5u);
  EXPECT_EQ(compare_with_file(*then, path).state, FileState::unchanged);
  make_later(path);
  const FileNow touched = compare_with_file(*then, path);
  EXPECT_EQ(touched.state, FileState::touched);
  EXPECT_EQ(touched.source.sha256, then->sha256);
  EXPECT_GT(touched.source.modified, then->modified);
  write(path, "phot0");  // of the same size
  make_later(path);
  EXPECT_EQ(compare_with_file(*then, path).state, FileState::changed);
  write(path, "a longer photo");
  EXPECT_EQ(compare_with_file(*then, path).state, FileState::changed);
  fs::remove(path);
  EXPECT_EQ(compare_with_file(*then, path).state, FileState::missing);
}

TEST(SourceFile, AFileThatChangesWhileItIsReadLeavesNoSource) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.jpg";
  write(path, "photo");
  const SourceFile before = *glance_at(path);
  make_later(path);
  EXPECT_FALSE(source_of(path, before));
}

TEST(SourceFile, AnUploadHasTheSourceOfAFileWithItsBytesAlone) {
  const TemporaryFolder folder;
  const std::string path = folder / "a.jpg";
  write(path, "photo");
  EXPECT_TRUE(source_of_bytes(fs::absolute(path).string(), "photo"));
  EXPECT_FALSE(source_of_bytes(fs::absolute(path).string(), "phot0"));
  EXPECT_FALSE(source_of_bytes("a.jpg", "photo"));
  EXPECT_FALSE(source_of_bytes(folder.path(), "photo"));
}

TEST(KnownItems, OnlyWhatIsGivenAndDiffersIsUpdated) {
  const Item there{.id = 3, .path = "a", .label = "pug", .metadata = R"({"a":1,"b":2})"};
  EXPECT_FALSE(words_update(there, {"", {.path = "a"}}));
  EXPECT_FALSE(
      words_update(there, {"", {.path = "a", .label = "pug", .metadata = R"({"b": 2, "a": 1})"}}));
  const auto label = words_update(there, {"", {.path = "a", .label = "husky"}});
  ASSERT_TRUE(label);
  EXPECT_EQ(label->label, "husky");
  EXPECT_FALSE(label->metadata);
  const auto metadata = words_update(there, {"", {.path = "a", .metadata = "{}"}});
  ASSERT_TRUE(metadata);
  EXPECT_FALSE(metadata->label);
  const auto cleared = words_update(there, {"", {.path = "a"}, true});
  ASSERT_TRUE(cleared);
  EXPECT_EQ(cleared->label, "");
}

}  // namespace
}  // namespace diml
