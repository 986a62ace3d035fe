#pragma once

#include <string>

namespace diml::cli {

// What --version prints: the version on the first line, then how it was built.
std::string build_facts();

// The commit that was built, "unknown" outside of a repository.
const char* build_commit();

}  // namespace diml::cli
