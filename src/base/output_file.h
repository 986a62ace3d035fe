#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace diml {

// Creates the folder and its parents. It may exist already.
void make_folder(const std::string& path);

// A name that was added to the file's folder, or removed from it, survives a power cut once the
// folder is synced. A file system that cannot sync folders is not an error.
void sync_folder_of(const std::string& path);

// A file that appears under its name complete or not at all: written beside its place, synced and
// renamed by commit(). Without commit() nothing is left behind; after a kill this holds where the
// file system has unnamed temporary files.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

  const std::string& path() const { return path_; }

 private:
  std::string beside(int attempt) const;  // a temporary name for the complete file
  [[noreturn]] void fail(const char* doing) const;

  std::string path_;       // as given, for messages
  std::string place_;      // where it goes, links followed; empty for a device or a pipe
  std::string temporary_;  // empty while the file has no name
  int descriptor_ = -1;
};

}  // namespace diml
