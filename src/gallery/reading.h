#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "environment.h"
#include "records.h"

namespace diml::gallery {

// Records as they are used: compared with their checksums. Each of these throws where what it reads
// is damaged, also where it finds nothing because the key of a record next to it is.

[[noreturn]] void refuse_damaged(const Environment& environment, std::int64_t id);

// Of the table `about`; 0 where it is not there.
std::uint64_t number_of(const Transaction& transaction, std::string_view name);

std::optional<std::int64_t> find_path(const Transaction& transaction, const std::string& path);

// part: what of an item is compared.
std::optional<Bytes> find_item(const Transaction& transaction, std::int64_t id, Part part);
std::optional<Bytes> find_global(const Transaction& transaction, std::int64_t id);

// Compares a record of items or globals, one of an older format the first time only.
bool is_intact(const Transaction& transaction, Table table, Bytes key, Bytes record,
               Part part = Part::all);

}  // namespace diml::gallery
