#include "engine/embedding_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/float16.h"
#include "base/label_words.h"
#include "base/output_file.h"
#include "base/shown_text.h"
#include "base/system_error.h"
#include "diml/error.h"
#include "match/int8_cells.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeader = 128;     // bytes that npy_header() takes
constexpr std::size_t kSyncEvery = 512;  // images; at most so many are embedded again
const std::string kState = "state";
const char* const kNames[] = {"cells.npy", "globals.npy", "labels.npy",
                              "roles.npy", "paths.txt",   "bad.txt"};

// The state that sync() wrote, by name; empty where there is none.
std::map<std::string, std::string> notes_in(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, std::string> notes;
  std::string name;
  std::string value;
  while (file >> name >> value) notes[name] = value;
  return notes;
}

std::size_t count_in(const std::map<std::string, std::string>& notes, const std::string& name,
                     const std::string& path) {
  const auto found = notes.find(name);
  std::size_t count = 0;
  if (found != notes.end()) {
    const std::string& text = found->second;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), count);
    if (end.ec == std::errc() && end.ptr == text.data() + text.size()) return count;
  }
  throw Error(ErrorKind::damaged, path + ": is damaged: delete the folder and start again");
}

}  // namespace

// Keeps a second process from writing the same files. The system releases it when the process
// ends.
class EmbeddingFiles::Lock {
 public:
  explicit Lock(const std::string& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(descriptor_);
      throw Error(ErrorKind::conflict,
                  folder + ": another process is at work there: wait for it, or take another name");
    }
  }
  ~Lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

// A file that grows: room for a header, which is known only at the end, then rows.
class EmbeddingFiles::Part {
 public:
  Part(std::string name, std::string path, std::size_t header)
      : name_(std::move(name)), path_(std::move(path)), header_(header) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot be written");
  }
  ~Part() { ::close(descriptor_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const std::string& name() const { return name_; }
  // Bytes up to the end of the last whole chunk: a failed write may leave more in the file.
  std::size_t whole() const { return whole_; }
  void end_chunk() { whole_ = size_; }

  void cut_to(std::size_t size) {
    const off_t there = ::lseek(descriptor_, 0, SEEK_END);
    if (size > 0 && there < static_cast<off_t>(header_ + size)) {
      throw Error(ErrorKind::damaged,
                  path_ + ": is shorter than was noted: delete the folder and start again");
    }
    if (::ftruncate(descriptor_, static_cast<off_t>(header_ + size)) != 0) fail("cannot be cut");
    size_ = whole_ = size;
  }

  void append(const void* data, std::size_t bytes) {
    write_at(header_ + size_, data, bytes);
    size_ += bytes;
  }

  void finish(const std::string& header) {
    if (header.size() != header_)
      throw Error(ErrorKind::internal, path_ + ": the header has an odd length");
    write_at(0, header.data(), header.size());
  }

  void sync() {
    if (::fdatasync(descriptor_) != 0) fail("cannot be synced to disk");
  }

 private:
  void write_at(std::size_t offset, const void* data, std::size_t bytes) {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t written = ::pwrite(descriptor_, next, bytes, static_cast<off_t>(offset));
      if (written < 0) {
        if (errno == EINTR) continue;
        fail("cannot be written");
      }
      next += written;
      offset += static_cast<std::size_t>(written);
      bytes -= static_cast<std::size_t>(written);
    }
  }
  [[noreturn]] void fail(const char* doing) const {
    throw system_error(path_ + ": " + doing, errno);
  }

  std::string name_;
  std::string path_;
  std::size_t header_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
  std::size_t whole_ = 0;
};

EmbeddingFiles::EmbeddingFiles(std::string prefix, const LabelledImages& list,
                               EmbeddingFilesParams params)
    : prefix_(std::move(prefix)),
      folder_(prefix_ + ".partial"),
      list_(list),
      params_(std::move(params)) {
  if (list_.labels.size() != list_.paths.size() ||
      (!list_.roles.empty() && list_.roles.size() != list_.paths.size())) {
    throw Error("each image needs one label and one role");
  }
  choose_label_type();
  if (fs::path(prefix_).filename().empty()) {
    throw Error("'" + prefix_ + "' is no beginning of file names: 'cub' or 'FOLDER/cub' is one");
  }
  std::error_code failed;
  fs::create_directory(folder_, failed);
  if (failed) throw system_error(folder_ + ": cannot be made", failed);
  lock_ = std::make_unique<Lock>(folder_);
  const bool earlier = load_state();
  const auto open = [&](const char* name, std::size_t header) {
    // An earlier commit() was interrupted between two renames: its files are moved back.
    if (earlier && !fs::exists(partial(name))) {
      fs::rename(prefix_ + "." + name, partial(name), failed);
    }
    parts_.push_back(std::make_unique<Part>(name, partial(name), header));
  };
  open("cells.npy", kHeader);
  open("globals.npy", kHeader);
  open("labels.npy", kHeader);
  if (!list_.roles.empty()) open("roles.npy", kHeader);
  open("paths.txt", 0);
  open("bad.txt", 0);
  if (!earlier) {
    for (const auto& one : parts_) one->cut_to(0);
    sync();
    return;
  }
  const std::map<std::string, std::string> notes = notes_in(partial(kState));
  for (const auto& one : parts_) one->cut_to(count_in(notes, one->name(), partial(kState)));
}

EmbeddingFiles::~EmbeddingFiles() {
  if (kept_ > 0) return;  // or nothing is there to go on with
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

EmbeddingFiles::Part& EmbeddingFiles::part(const std::string& name) {
  return **std::find_if(parts_.begin(), parts_.end(),
                        [&](const auto& one) { return one->name() == name; });
}

bool EmbeddingFiles::load_state() {
  const std::string path = partial(kState);
  if (!fs::exists(path)) return false;
  const std::map<std::string, std::string> notes = notes_in(path);
  const std::size_t done = count_in(notes, "done", path);
  const std::size_t kept = count_in(notes, "kept", path);
  if (kept == 0) return false;
  if (!params_.resume) {
    throw Error(ErrorKind::conflict,
                folder_ + ": holds work that was interrupted: resume it, or delete the folder",
                "resume");
  }
  const auto fingerprint = notes.find("fingerprint");
  if (fingerprint == notes.end() || fingerprint->second != params_.fingerprint) {
    throw Error(ErrorKind::conflict,
                folder_ +
                    ": is of other images, another model or other options: repeat the call "
                    "that was interrupted, or delete the folder");
  }
  const std::size_t of_global = params_.dim * size_of(params_.type);
  const std::size_t of_label =
      longest_word_ > 0 ? longest_word_ * sizeof(std::uint32_t) : sizeof(std::int64_t);
  if (done > list_.paths.size() || kept > done ||
      count_in(notes, "globals.npy", path) != kept * of_global ||
      count_in(notes, "cells.npy", path) != kept * of_global * params_.cells_per_grid ||
      count_in(notes, "labels.npy", path) != kept * of_label) {
    throw Error(ErrorKind::damaged, path + ": is damaged: delete the folder and start again");
  }
  done_ = done;
  kept_ = kept;
  return true;
}

void EmbeddingFiles::append_floats(const std::string& name, const std::vector<float>& values) {
  if (params_.type == ArrayType::float32) {
    part(name).append(values.data(), values.size() * sizeof(float));
    return;
  }
  if (params_.type == ArrayType::int8) {
    std::vector<std::int8_t> integers(values.size());
    for (std::size_t k = 0; k < values.size(); k += params_.dim) {
      to_int8(std::span(values).subspan(k, params_.dim),
              std::span(integers).subspan(k, params_.dim));
    }
    part(name).append(integers.data(), integers.size());
    return;
  }
  std::vector<Float16> narrow(values.size());
  std::transform(values.begin(), values.end(), narrow.begin(), to_float16);
  part(name).append(narrow.data(), narrow.size() * sizeof(Float16));
}

// By the names of all classes, so that every split of a data set has the same type.
void EmbeddingFiles::choose_label_type() {
  const auto& names = list_.class_names;
  const bool numbers = std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return label_number(name).has_value();
  });
  if (!list_.labels_are_names || list_.numbered || numbers) return;
  for (const std::string& name : names) longest_word_ = std::max(longest_word_, text_length(name));
}

void EmbeddingFiles::append_label(std::size_t image) {
  const std::string word = list_.label_of(image);
  if (longest_word_ > 0) {
    const std::string bytes = npy_text(word, longest_word_);
    part("labels.npy").append(bytes.data(), bytes.size());
  } else {
    const std::int64_t own = list_.labels[image];
    const std::int64_t number = list_.numbered ? own : label_number(word).value_or(own);
    part("labels.npy").append(&number, sizeof(number));
  }
}

void EmbeddingFiles::append(const EmbeddedBatch& batch) {
  if (batch.first != done_)
    throw Error(ErrorKind::internal, "images must be appended in the order of their list");
  append_floats("cells.npy", batch.cells);
  append_floats("globals.npy", batch.globals);
  for (const std::size_t index : batch.indices) {
    append_label(index);
    if (!list_.roles.empty()) {
      const auto role = static_cast<std::int64_t>(list_.roles[index]);
      part("roles.npy").append(&role, sizeof(role));
    }
    const std::string line = line_of_name(list_.paths[index]) + "\n";
    part("paths.txt").append(line.data(), line.size());
  }
  for (const BadImage& bad : batch.bad) {
    const std::string line = line_of_name(bad.why) + "\n";
    part("bad.txt").append(line.data(), line.size());
  }
  for (const auto& one : parts_) one->end_chunk();
  done_ += batch.count;
  kept_ += batch.indices.size();
  unsynced_ += batch.count;
  if (unsynced_ >= kSyncEvery) sync();
}

void EmbeddingFiles::sync() {
  for (const auto& one : parts_) one->sync();
  OutputFile state(partial(kState));
  state.write("fingerprint " + params_.fingerprint + "\ndone " + std::to_string(done_) + "\nkept " +
              std::to_string(kept_) + "\n");
  for (const auto& one : parts_) {
    state.write(one->name() + " " + std::to_string(one->whole()) + "\n");
  }
  state.commit();
  unsynced_ = 0;
}

void EmbeddingFiles::commit() {
  if (done_ != list_.paths.size())
    throw Error(ErrorKind::internal, prefix_ + ": not all images have been embedded");
  const auto finish = [&](const char* name, ArrayType type, std::vector<std::size_t> shape) {
    part(name).finish(npy_header(type, shape));
  };
  finish("cells.npy", params_.type, {kept_, params_.cells_per_grid, params_.dim});
  finish("globals.npy", params_.type, {kept_, params_.dim});
  const std::vector<std::size_t> one_each = {kept_};
  part("labels.npy")
      .finish(longest_word_ > 0 ? npy_text_header(longest_word_, one_each)
                                : npy_header(ArrayType::int64, one_each));
  if (!list_.roles.empty()) finish("roles.npy", ArrayType::int64, {kept_});
  sync();
  // Files of an earlier call are removed first: an interruption here must not leave new cells
  // beside labels of other images.
  for (const char* name : kNames) {
    std::error_code ignored;
    fs::remove(prefix_ + "." + name, ignored);
  }
  for (const auto& one : parts_) {
    if (one->name() == "bad.txt" && one->whole() == 0) continue;
    std::error_code failed;
    fs::rename(partial(one->name()), prefix_ + "." + one->name(), failed);
    if (failed)
      throw system_error(prefix_ + "." + one->name() + ": cannot be put in place", failed);
  }
  sync_folder_of(prefix_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace diml
