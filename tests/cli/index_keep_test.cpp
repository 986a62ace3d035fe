// `diml index backup`, `restore`, `compact`, `salvage`, and what damaged galleries do to commands.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "cli/gallery_files.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class IndexKeep : public GalleryFiles {
 protected:
  static constexpr std::size_t kMany = 600;
  IndexKeep() : GalleryFiles(kMany) { run_well(build()); }

  std::string data() const { return at("g/data.mdb"); }

  void flip(std::size_t place, int bits) const {
    std::string bytes = bytes_of(data());
    bytes[place] = static_cast<char>(bytes[place] ^ bits);
    write_bytes(data(), bytes);
  }
  // The last cells of an item lie before its path.
  std::size_t place_of_cells(std::size_t image) const {
    return bytes_of(data()).find("c:" + std::to_string(image) + "{}") - 20;
  }
};

TEST_F(IndexKeep, ABackupIsRestored) {
  const std::string before = run_well({"search", "g", "--id", "3", "--json", "-"});
  EXPECT_NE(run_well({"index", "backup", "g", "b"}).find("b: 600 images, revision 2, "),
            std::string::npos);
  run_well({"index", "remove", "g", "--ids", "5,6"});
  const std::string said = run_well({"index", "restore", "b", "g"});
  EXPECT_NE(said.find("what was there before is in g.replaced now"), std::string::npos) << said;
  EXPECT_EQ(Json::parse(run_well({"search", "g", "--id", "3", "--json", "-"})).at("queries"),
            Json::parse(before).at("queries"));
  EXPECT_EQ(json_of({"index", "info", "g.replaced"}).at("items"), kMany - 2);
  const Json again = json_of({"index", "restore", "b", "g"});
  EXPECT_EQ(again.at("replaced"), "g.replaced-2");
  EXPECT_EQ(again.at("items"), kMany);
  expect_refused({"index", "backup", "g", "b"}, {"b: exists: name a folder that is empty"});
  expect_refused({"index", "backup", "none", "d"}, {"none: there is no gallery"});
}

TEST_F(IndexKeep, CompactingFreesWhatRemovedImagesLeave) {
  std::string ids = "0";
  for (std::size_t id = 1; id < 400; ++id) ids += "," + std::to_string(id);
  run_well({"index", "remove", "g", "--ids", ids});
  const Json compacted = json_of({"index", "compact", "g"});
  EXPECT_LT(compacted.at("bytes").get<double>(), 0.6 * compacted.at("bytes_before").get<double>());
  EXPECT_EQ(compacted.at("items"), kMany - 400);
  const Json info = json_of({"index", "info", "g"});
  EXPECT_EQ(info.at("first_id"), 400);
  EXPECT_EQ(info.at("revision"), 3);
  EXPECT_GT(info.at("bytes_most"), info.at("bytes"));
  run_well({"index", "verify", "g"});
}

TEST_F(IndexKeep, WhatVerifyFindsIsTakenOut) {
  flip(place_of_cells(17), 4);
  const ProgramResult found = run({"index", "verify", "g"});
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_NE(found.err.find("item 17: the checksum"), std::string::npos) << found.err;
  EXPECT_NE(found.err.find("'diml index remove g --ids 17'"), std::string::npos) << found.err;
  expect_refused({"index", "backup", "g", "b"}, {"g: is damaged (item 17", "no copy was made"});
  expect_refused({"index", "compact", "g"}, {"salvage what is whole ('diml index restore' and 'diml index salvage' do)"});
  const Json taken = json_of({"index", "salvage", "g", "whole"});
  EXPECT_EQ(taken.at("items"), kMany - 1);
  EXPECT_EQ(taken.at("items_before"), kMany);
  EXPECT_EQ(taken.at("damaged"), 1);
  EXPECT_EQ(taken.at("unsure"), 0);
  run_well({"index", "verify", "whole"});
  const std::string said = run_well({"index", "salvage", "g", "again"});
  EXPECT_NE(said.find("again: 599 images of 600\nlost       1 images"), std::string::npos) << said;
}

TEST_F(IndexKeep, VerifyLooksAtTheIndexBesideIt) {
  if (DIML_HAS_FAISS == 0) GTEST_SKIP() << "built without FAISS";
  write_bytes(at("g/first_stage.faiss"), "no index");
  const ProgramResult found = run({"index", "verify", "g"});
  EXPECT_EQ(found.exit_code, 1);
  EXPECT_NE(found.err.find("the gallery itself is whole; 'diml index cache g'"), std::string::npos)
      << found.err;
}

// DIML_FLIPS: a twentieth of it here.
TEST_F(IndexKeep, NoFlippedBitEndsACommandBySignalOrChangesAnAnswer) {
  const char* wanted = std::getenv("DIML_FLIPS");
  const int flips = wanted != nullptr ? std::max(12, std::atoi(wanted) / 20) : 12;
  const std::string whole = bytes_of(data());
  const Arguments search = {"search", "g", "--id", "3", "--top", "20", "--json", "-"};
  const Json right = Json::parse(run_well(search)).at("queries");
  std::mt19937 random(5);
  int refused = 0;
  for (int k = 0; k < flips; ++k) {
    const std::size_t page = random() % (whole.size() / 4096);
    const std::size_t place = page * 4096 + (k % 2 == 0 ? random() % 64 : random() % 4096);
    write_bytes(data(), whole);
    flip(place, 1 << random() % 8);
    const std::vector<Arguments> commands = {
        search,
        {"index", "verify", "g"},
        {"index", "export", "g", "--out", "x"},
        {"index", "remove", "g", "--ids", std::to_string(random() % kMany)}};
    for (const Arguments& command : commands) {
      const ProgramResult result = run(command);
      ASSERT_LE(result.exit_code, 1)
          << command[0] << " " << command[1] << ", byte " << place << ": " << result.err;
      refused += result.exit_code;
      if (command == search && result.exit_code == 0) {
        ASSERT_EQ(Json::parse(result.out).at("queries"), right) << "byte " << place;
      }
      // What is refused does not begin with a signal's line and names a remedy or the item.
      if (result.exit_code == 1) {
        EXPECT_NE(result.err.find("diml "), std::string::npos) << result.err;
      }
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace diml::test
