#include "engine/embedding_files.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "base/float16.h"
#include "base/temporary_folder.h"
#include "diml/error.h"
#include "match/int8_cells.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kImages = 1300;  // more than are embedded between two syncs
constexpr std::size_t kStretch = 200;
constexpr std::size_t kCells = 4;
constexpr std::size_t kDim = 3;
const std::vector<std::string> kParts = {"cells.npy", "globals.npy", "labels.npy",
                                         "roles.npy", "paths.txt",   "bad.txt"};

bool is_bad(std::size_t image) { return image % 7 == 3; }
float value_of(std::size_t image, std::size_t k) {
  return std::sin(static_cast<float>(image * 100 + k));
}

LabelledImages make_list(std::size_t images = kImages) {
  LabelledImages list;
  for (std::size_t i = 0; i < images; ++i) {
    list.paths.push_back("photos/" + std::to_string(i) + ".jpg");
    list.labels.push_back(static_cast<std::int64_t>(i / 5));
    list.roles.push_back(static_cast<Role>(1 + i % 3));
  }
  return list;
}

EmbeddedBatch make_batch(std::size_t first, std::size_t count) {
  EmbeddedBatch batch;
  batch.first = first;
  batch.count = count;
  for (std::size_t i = first; i < first + count; ++i) {
    if (is_bad(i)) {
      batch.bad.push_back({i, "photos/" + std::to_string(i) + ".jpg: is empty"});
      continue;
    }
    batch.indices.push_back(i);
    for (std::size_t k = 0; k < kCells * kDim; ++k) batch.cells.push_back(value_of(i, k));
    for (std::size_t d = 0; d < kDim; ++d) batch.globals.push_back(value_of(i, 90 + d));
  }
  return batch;
}

// At most this many blocks, from the current position.
void append_to(EmbeddingFiles& files, std::size_t images, std::size_t stretches) {
  for (std::size_t s = 0; s < stretches && files.done() < images; ++s) {
    files.append(make_batch(files.done(), std::min(kStretch, images - files.done())));
  }
}

class EmbeddingFilesOnDisk : public testing::Test {
 protected:
  static EmbeddingFilesParams params(bool resume = false) {
    return {.type = ArrayType::float32,
            .cells_per_grid = kCells,
            .dim = kDim,
            .fingerprint = "abc",
            .resume = resume};
  }
  std::string at(const std::string& name) const { return folder_ / ("x." + name); }
  std::string partial(const std::string& name) const { return folder_ / ("x.partial/" + name); }

  void write(const LabelledImages& list, EmbeddingFilesParams with = params()) const {
    EmbeddingFiles files(folder_ / "x", list, std::move(with));
    append_to(files, list.paths.size(), 1000);
    files.commit();
  }
  void interrupt_after(std::size_t stretches, bool sync) const {
    EmbeddingFiles files(folder_ / "x", list_, params());
    append_to(files, kImages, stretches);
    if (sync) files.sync();
  }
  std::map<std::string, std::string> written() const {
    std::map<std::string, std::string> bytes;
    for (const std::string& name : folder_.names()) bytes[name] = bytes_of(folder_ / name);
    return bytes;
  }
  void clear() const {
    for (const std::string& name : folder_.names()) fs::remove_all(folder_ / name);
  }
  std::string refusal(EmbeddingFilesParams with) const {
    try {
      const EmbeddingFiles files(folder_ / "x", list_, std::move(with));
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      return message;
    }
    return "accepted";
  }

  const TemporaryFolder folder_;
  const LabelledImages list_ = make_list();
};

std::vector<float> floats_in(const NpyFile& file) {
  std::vector<float> values(file.count());
  file.read_floats(0, values);
  return values;
}

std::vector<std::int64_t> integers_in(const NpyFile& file) {
  std::vector<std::int64_t> values(file.count());
  file.read_int64s(0, values);
  return values;
}

TEST_F(EmbeddingFilesOnDisk, HoldWhatCouldBeReadAndTheReasonsOfTheRest) {
  write(list_);
  EXPECT_EQ(folder_.names(),
            (std::vector<std::string>{"x.bad.txt", "x.cells.npy", "x.globals.npy", "x.labels.npy",
                                      "x.paths.txt", "x.roles.npy"}));
  std::vector<float> cells;
  std::vector<float> globals;
  std::vector<std::int64_t> labels;
  std::vector<std::int64_t> roles;
  std::string paths;
  std::string bad;
  for (std::size_t i = 0; i < kImages; ++i) {
    if (is_bad(i)) {
      bad += list_.paths[i] + ": is empty\n";
      continue;
    }
    for (std::size_t k = 0; k < kCells * kDim; ++k) cells.push_back(value_of(i, k));
    for (std::size_t d = 0; d < kDim; ++d) globals.push_back(value_of(i, 90 + d));
    labels.push_back(list_.labels[i]);
    roles.push_back(static_cast<std::int64_t>(list_.roles[i]));
    paths += list_.paths[i] + "\n";
  }
  const NpyFile cells_file(at("cells.npy"));
  EXPECT_EQ(cells_file.type(), ArrayType::float32);
  EXPECT_EQ(cells_file.shape(), (std::vector<std::size_t>{labels.size(), kCells, kDim}));
  EXPECT_EQ(floats_in(cells_file), cells);
  const NpyFile globals_file(at("globals.npy"));
  EXPECT_EQ(globals_file.shape(), (std::vector<std::size_t>{labels.size(), kDim}));
  EXPECT_EQ(floats_in(globals_file), globals);
  EXPECT_EQ(integers_in(NpyFile(at("labels.npy"))), labels);
  EXPECT_EQ(integers_in(NpyFile(at("roles.npy"))), roles);
  EXPECT_EQ(bytes_of(at("paths.txt")), paths);
  EXPECT_EQ(bytes_of(at("bad.txt")), bad);
}

TEST_F(EmbeddingFilesOnDisk, OfHalfFloatsHoldTheNearestOnes) {
  EmbeddingFilesParams half = params();
  half.type = ArrayType::float16;
  write(list_, half);
  const NpyFile cells(at("cells.npy"));
  EXPECT_EQ(cells.type(), ArrayType::float16);
  EXPECT_EQ(NpyFile(at("globals.npy")).type(), ArrayType::float16);
  EXPECT_EQ(NpyFile(at("labels.npy")).type(), ArrayType::int64);
  const std::vector<float> values = floats_in(cells);
  for (std::size_t k = 0; k < kCells * kDim; ++k) {
    EXPECT_EQ(values[k], to_float(to_float16(value_of(0, k))));
  }
}

// 16 x 128 + 128 bytes for a 4 x 4 grid of 128 dimensions.
TEST_F(EmbeddingFilesOnDisk, OfInt8HoldTheIntegersOfCellsAndGlobals) {
  EmbeddingFilesParams params_of_int8 = params();
  params_of_int8.type = ArrayType::int8;
  write(list_, params_of_int8);
  const NpyFile cells(at("cells.npy"));
  const NpyFile globals(at("globals.npy"));
  EXPECT_EQ(cells.type(), ArrayType::int8);
  EXPECT_EQ(globals.type(), ArrayType::int8);
  const std::vector<float> values = floats_in(cells);
  std::vector<float> given;
  for (std::size_t k = 0; k < kCells * kDim; ++k) given.push_back(value_of(0, k));
  for (std::size_t cell = 0; cell < kCells; ++cell) {
    std::vector<std::int8_t> expected(kDim);
    to_int8(std::span(given).subspan(cell * kDim, kDim), expected);
    for (std::size_t d = 0; d < kDim; ++d) EXPECT_EQ(values[cell * kDim + d], expected[d]);
  }
}

TEST_F(EmbeddingFilesOnDisk, AreTheSameAfterAnInterruptionAnywhere) {
  write(list_);
  const std::map<std::string, std::string> whole = written();
  for (std::size_t stretches = 0; stretches <= kImages / kStretch + 1; ++stretches) {
    for (const bool sync : {false, true}) {
      SCOPED_TRACE(std::to_string(stretches) + (sync ? " stretches, synced" : " stretches"));
      clear();
      interrupt_after(stretches, sync);
      for (const std::string& name : folder_.names()) EXPECT_EQ(name, "x.partial");
      EmbeddingFiles files(folder_ / "x", list_, params(true));
      const std::size_t appended = std::min(kImages, stretches * kStretch);
      if (sync) {
        EXPECT_EQ(files.done(), appended);
      }
      EXPECT_LE(appended - files.done(), 512U);
      append_to(files, kImages, 1000);
      files.commit();
      EXPECT_EQ(written(), whole);
    }
  }
}

TEST_F(EmbeddingFilesOnDisk, ForgetWhatWasWrittenBeyondTheLastNote) {
  write(list_);
  const std::map<std::string, std::string> whole = written();
  clear();
  interrupt_after(2, true);
  for (const std::string& name : kParts) {
    write_bytes(partial(name), bytes_of(partial(name)) + "half a row");
  }
  write(list_, params(true));
  EXPECT_EQ(written(), whole);
}

TEST_F(EmbeddingFilesOnDisk, AreTheSameAfterAnInterruptionWhileTheyAreMovedInPlace) {
  interrupt_after(1000, true);
  const std::string state = bytes_of(partial("state"));
  write(list_, params(true));
  const std::map<std::string, std::string> whole = written();
  for (std::size_t moved = 0; moved <= kParts.size(); ++moved) {
    SCOPED_TRACE(std::to_string(moved) + " in place");
    fs::create_directory(folder_ / "x.partial");
    write_bytes(partial("state"), state);
    for (std::size_t k = moved; k < kParts.size(); ++k)
      fs::rename(at(kParts[k]), partial(kParts[k]));
    write(list_, params(true));
    EXPECT_EQ(written(), whole);
  }
}

TEST_F(EmbeddingFilesOnDisk, NeverStandBesideThoseOfAnEarlierCall) {
  write(list_);
  LabelledImages other = make_list(3);  // the fourth image is the first bad one
  other.roles.clear();
  write(other);
  EXPECT_EQ(folder_.names(), (std::vector<std::string>{"x.cells.npy", "x.globals.npy",
                                                       "x.labels.npy", "x.paths.txt"}));
  EXPECT_EQ(NpyFile(at("labels.npy")).count(), 3U);
}

TEST_F(EmbeddingFilesOnDisk, ThatCannotBePutInPlaceLeaveNoneOfAnEarlierCallBeside) {
  write(make_list(5));
  fs::remove(at("labels.npy"));
  fs::create_directories(at("labels.npy") + "/in the way");
  EXPECT_THROW(write(list_), Error);
  EXPECT_TRUE(fs::exists(at("cells.npy")));
  EXPECT_FALSE(fs::exists(at("paths.txt")));  // of the five
  fs::remove_all(at("labels.npy"));
  write(list_, params(true));
  EXPECT_EQ(NpyFile(at("labels.npy")).count(), NpyFile(at("cells.npy")).shape()[0]);
}

TEST_F(EmbeddingFilesOnDisk, OfAnEarlierCallStayUntilTheNewOnesAreWhole) {
  write(make_list(5));
  const std::string before = bytes_of(at("cells.npy"));
  interrupt_after(3, true);
  EXPECT_EQ(bytes_of(at("cells.npy")), before);
}

TEST_F(EmbeddingFilesOnDisk, WorkThatWasInterruptedIsNotWipedUnasked) {
  interrupt_after(1, true);
  const std::string state = bytes_of(partial("state"));
  EXPECT_EQ(refusal(params()),
            (folder_ / "x.partial") +
                ": holds work that was interrupted: resume it, or delete the folder");
  EmbeddingFilesParams other = params(true);
  other.fingerprint = "abd";
  EXPECT_NE(refusal(other).find("is of other images, another model or other options"),
            std::string::npos);
  EXPECT_EQ(bytes_of(partial("state")), state);
}

TEST_F(EmbeddingFilesOnDisk, WorkOfNothingLeavesNoTraceAndStandsInNobodysWay) {
  interrupt_after(0, true);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{});
  // A killed process leaves its folder.
  fs::create_directory(folder_ / "x.partial");
  write_bytes(partial("state"), "fingerprint other\ndone 0\nkept 0\ncells.npy 0\n");
  write_bytes(partial("cells.npy"), "rows that were never noted");
  write(make_list(3));
  EXPECT_EQ(NpyFile(at("labels.npy")).count(), 3U);
}

TEST_F(EmbeddingFilesOnDisk, DamagedNotesAreRefusedWithTheRemedy) {
  interrupt_after(2, true);
  const std::string good = bytes_of(partial("state"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    return text.replace(place, from.size(), to);
  };
  const std::string kept = "kept " + std::to_string(make_batch(0, 400).indices.size());
  for (const std::string& text :
       {std::string(), std::string("\0\0\0\0", 4), good.substr(0, good.find("kept")),
        good.substr(0, good.find("labels.npy")), good.substr(0, good.find("bad.txt")),
        changed("done 400", "done 4000"), changed("done 400", "done 300"),
        changed("done 400", "done -1"), changed("done 400", "done 4x0"), changed(kept, "kept 300"),
        changed(kept, "kept 99999999999999999999999"), changed("cells.npy 1", "cells.npy 2"),
        changed("globals.npy 4", "globals.npy 5"), changed("labels.npy 2", "labels.npy 1")}) {
    write_bytes(partial("state"), text);
    EXPECT_EQ(refusal(params(true)),
              partial("state") + ": is damaged: delete the folder and start again")
        << text;
  }
  write_bytes(partial("state"), good);
  EXPECT_EQ(refusal(params(true)), "accepted");
}

TEST_F(EmbeddingFilesOnDisk, AFileThatLostItsEndIsRefusedWithTheRemedy) {
  for (const std::string& name : kParts) {
    clear();
    interrupt_after(2, true);
    fs::resize_file(partial(name), fs::file_size(partial(name)) - 1);
    EXPECT_EQ(refusal(params(true)),
              partial(name) + ": is shorter than was noted: delete the folder and start again");
    fs::remove(partial(name));
    EXPECT_NE(refusal(params(true)).find("start again"), std::string::npos);
  }
}

TEST_F(EmbeddingFilesOnDisk, AreWrittenByOneProcessAtATime) {
  EmbeddingFiles files(folder_ / "x", list_, params());
  append_to(files, kImages, 1);
  for (const bool resume : {false, true}) {
    EXPECT_EQ(refusal(params(resume)),
              (folder_ / "x.partial") +
                  ": another process is at work there: wait for it, or take another name");
  }
  append_to(files, kImages, 1000);
  files.commit();
  EXPECT_EQ(NpyFile(at("labels.npy")).count(), make_batch(0, kImages).indices.size());
}

TEST_F(EmbeddingFilesOnDisk, AWrongPlaceIsToldBeforeTheWork) {
  const auto message = [&](const std::string& prefix) -> std::string {
    try {
      const EmbeddingFiles files(prefix, list_, params());
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(message(folder_ / "none/x").find("none/x.partial: cannot be made: No such file"),
            std::string::npos);
  EXPECT_NE(message(folder_ / "").find("is no beginning of file names"), std::string::npos);
  EXPECT_NE(message("").find("is no beginning of file names"), std::string::npos);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{});
}

TEST_F(EmbeddingFilesOnDisk, AreNotPutInPlaceBeforeTheLastImage) {
  EmbeddingFiles files(folder_ / "x", list_, params());
  append_to(files, kImages, 2);
  EXPECT_THROW(files.append(make_batch(0, 3)), Error);  // not what comes next
  EXPECT_THROW(files.commit(), Error);
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"x.partial"});
}

}  // namespace
}  // namespace diml::test
