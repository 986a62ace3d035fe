#pragma once

#include <string>

namespace diml {

// A folder of its own, under a name that nothing else has. It goes away with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();                                    // where the system keeps such things
  explicit TemporaryFolder(const std::string& parent);  // which is made where it is missing
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }  // absolute
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace diml
