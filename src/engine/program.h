#pragma once

#include <string>
#include <vector>

namespace diml {

// Runs a program in a folder and waits for it. Throws with the last line of what it complained of,
// or with `remedy` when there is no such program.
void run_program(const std::vector<std::string>& arguments, const std::string& folder,
                 const std::string& remedy);

// A folder that goes away with its contents.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& parent);  // which is made where it is missing
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace diml
