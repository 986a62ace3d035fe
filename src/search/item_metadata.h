#pragma once

#include <string>

#include "base/json_limits.h"

namespace diml {

// What the metadata of an item may have: a search reads that of every item that it looks at.
constexpr std::size_t kMostMetadataBytes = 65'536;
constexpr JsonLimits kMetadataLimits = {
    .depth = 16, .names_of_object = 1024, .names = 1024, .string = 16'384, .values = 8192};

// The metadata as it is stored: a JSON object in one line, "{}" for "". Throws where the text is
// anything else or breaks a limit: out_of_resources for too many bytes, bad_input otherwise.
// Every way into a store goes through here. path: of the item, for the message; "" for none.
std::string checked_metadata(const std::string& text, const std::string& path);

}  // namespace diml
