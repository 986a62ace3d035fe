#pragma once

#include <string>

namespace diml {

// A new folder with a unique name. The destructor removes it with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();                                    // in the system's temporary folder
  explicit TemporaryFolder(const std::string& parent);  // which is created where it is missing
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }  // absolute
  void keep() { path_.clear(); }                     // it is not removed: for what must not be lost
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Whether it is a folder without anything in it. (The iterators of std::filesystem end the process
// where there is no memory.)
bool is_empty_folder(const std::string& path);

}  // namespace diml
