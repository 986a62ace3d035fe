#include "diml/embedding_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include <fcntl.h>
#include <unistd.h>

#include "diml/error.h"
#include "diml/float16.h"
#include "diml/output_file.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeader = 128;     // bytes that npy_header() takes
constexpr std::size_t kSyncEvery = 512;  // images; at most so many are embedded again
const std::string kState = "state";

void sync_folder(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace

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
  std::size_t size() const { return size_; }

  void cut_to(std::size_t size) {
    const off_t there = ::lseek(descriptor_, 0, SEEK_END);
    if (size > 0 && there < static_cast<off_t>(header_ + size)) {
      throw Error(path_ + ": is shorter than was noted: delete the folder and start again");
    }
    if (::ftruncate(descriptor_, static_cast<off_t>(header_ + size)) != 0) fail("cannot be cut");
    size_ = size;
  }

  void append(const void* data, std::size_t bytes) {
    write_at(header_ + size_, data, bytes);
    size_ += bytes;
  }

  void finish(const std::string& header) {
    if (header.size() != header_) throw Error(path_ + ": the header has an odd length");
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
    throw Error(path_ + ": " + doing + ": " + std::strerror(errno));
  }

  std::string name_;
  std::string path_;
  std::size_t header_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

EmbeddingFiles::EmbeddingFiles(std::string prefix, const EmbeddingList& list,
                               EmbeddingFilesParams params)
    : prefix_(std::move(prefix)),
      folder_(prefix_ + ".partial"),
      list_(list),
      params_(std::move(params)) {
  if (list_.labels.size() != list_.paths.size() ||
      (!list_.roles.empty() && list_.roles.size() != list_.paths.size())) {
    throw Error("each image needs one label and one role");
  }
  const bool earlier = fs::exists(partial(kState));
  if (earlier && !params_.resume) {
    throw Error(folder_ +
                ": holds work that was interrupted: add --resume to go on with it, or "
                "delete the folder");
  }
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed) throw Error(folder_ + ": cannot be made: " + failed.message());
  const auto open = [&](const char* name, std::size_t header) {
    // Cut off while things were moved in place: what is there already comes back.
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
  if (earlier) {
    load_state();
  } else {
    for (const auto& one : parts_) one->cut_to(0);
    sync();
  }
}

EmbeddingFiles::~EmbeddingFiles() = default;

EmbeddingFiles::Part& EmbeddingFiles::part(const std::string& name) {
  return **std::find_if(parts_.begin(), parts_.end(),
                        [&](const auto& one) { return one->name() == name; });
}

void EmbeddingFiles::load_state() {
  std::ifstream file(partial(kState));
  std::map<std::string, std::string> notes;
  std::string name;
  std::string value;
  while (file >> name >> value) notes[name] = value;
  if (notes["fingerprint"] != params_.fingerprint) {
    throw Error(folder_ +
                ": is of other images, another model or other options: repeat the call "
                "that was interrupted, or delete the folder");
  }
  try {
    done_ = std::stoull(notes.at("done"));
    kept_ = std::stoull(notes.at("kept"));
    for (const auto& one : parts_) one->cut_to(std::stoull(notes.at(one->name())));
  } catch (const std::logic_error&) {
    throw Error(partial(kState) + ": cannot be read: delete the folder and start again");
  }
}

void EmbeddingFiles::append_floats(const std::string& name, const std::vector<float>& values) {
  if (params_.type == ArrayType::float32) {
    part(name).append(values.data(), values.size() * sizeof(float));
    return;
  }
  std::vector<Float16> narrow(values.size());
  std::transform(values.begin(), values.end(), narrow.begin(), to_float16);
  part(name).append(narrow.data(), narrow.size() * sizeof(Float16));
}

void EmbeddingFiles::append(const EmbeddedBatch& batch) {
  if (batch.first != done_) throw Error("images must be appended in the order of their list");
  append_floats("cells.npy", batch.cells);
  append_floats("globals.npy", batch.globals);
  for (const std::size_t index : batch.indices) {
    part("labels.npy").append(&list_.labels[index], sizeof(std::int64_t));
    if (!list_.roles.empty()) {
      part("roles.npy").append(&list_.roles[index], sizeof(std::int64_t));
    }
    const std::string line = list_.paths[index] + "\n";
    part("paths.txt").append(line.data(), line.size());
  }
  for (const BadImage& bad : batch.bad) {
    const std::string line = bad.why + "\n";
    part("bad.txt").append(line.data(), line.size());
  }
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
    state.write(one->name() + " " + std::to_string(one->size()) + "\n");
  }
  state.commit();
  unsynced_ = 0;
}

void EmbeddingFiles::commit() {
  if (done_ != list_.paths.size()) throw Error(prefix_ + ": not all images have been embedded");
  const auto finish = [&](const char* name, ArrayType type, std::vector<std::size_t> shape) {
    part(name).finish(npy_header(type, shape));
  };
  finish("cells.npy", params_.type, {kept_, params_.cells_per_grid, params_.dim});
  finish("globals.npy", params_.type, {kept_, params_.dim});
  finish("labels.npy", ArrayType::int64, {kept_});
  if (!list_.roles.empty()) finish("roles.npy", ArrayType::int64, {kept_});
  sync();
  // What an earlier call left under names that this one does not write would go with the wrong
  // images.
  for (const char* name : {"roles.npy", "bad.txt"}) {
    std::error_code ignored;
    fs::remove(prefix_ + "." + name, ignored);
  }
  for (const auto& one : parts_) {
    if (one->name() == "bad.txt" && one->size() == 0) continue;
    std::error_code failed;
    fs::rename(partial(one->name()), prefix_ + "." + one->name(), failed);
    if (failed)
      throw Error(prefix_ + "." + one->name() + ": cannot be put in place: " + failed.message());
  }
  const std::string parent = fs::path(prefix_).parent_path().string();
  sync_folder(parent.empty() ? "." : parent);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace diml
