#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace diml::test {

// The pages of a file of LMDB, by what they are for: "meta", "leaf of items", "large record: head".
std::map<std::string, std::vector<std::uint64_t>> kinds_of_pages(const std::string& file);

}  // namespace diml::test
