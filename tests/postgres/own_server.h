#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"

namespace diml::test {

// A program of this folder that starts something with `start FOLDER ...`, writes FOLDER/address,
// and ends it with `stop FOLDER`; it ends with 77 where that cannot be had.
class Started {
 public:
  Started(const std::string& script, const std::string& folder, const std::string& more)
      : call_(std::string(DIML_POSTGRES_SCRIPTS "/") + script), folder_(folder) {
    is_there_ = std::system((call_ + " start " + folder_ + " " + more + " >&2").c_str()) == 0;
  }
  ~Started() {
    [[maybe_unused]] const int status = std::system((call_ + " stop " + folder_).c_str());
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  bool is_there() const { return is_there_; }
  std::string gallery(const std::string& name) const {
    std::ifstream file(folder_ + "/address");
    std::string address;
    std::getline(file, address);
    return address.insert(address.find('?'), name);
  }

 private:
  std::string call_;
  std::string folder_;
  bool is_there_ = false;
};

}  // namespace diml::test
