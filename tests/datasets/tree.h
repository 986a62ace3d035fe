#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/dataset.h"
#include "diml/error.h"

namespace diml::test {

// A data set's folder for one test.
class DatasetTree : public testing::Test {
 protected:
  const std::string& root() const { return folder_.path(); }

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(root()) / name;
    std::filesystem::create_directories(path.parent_path());
    write_bytes(path.string(), text);
  }

  // Loading must fail with a line that contains `part`.
  void expect_refused(const char* name, const std::string& part) const {
    try {
      load_dataset(name, root(), Split::test);
      FAIL() << "accepted; wanted: " << part;
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find(part), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace diml::test
