#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "training/train_config.h"

namespace diml::training {

enum class SettingKind : std::uint8_t { text, value, list };

// A name and how its field is read and written, for set(), settings_of() and the files.
struct Setting {
  const char* name;
  SettingKind kind;
  std::function<std::string(const TrainConfig&)> read;
  std::function<void(TrainConfig&, std::string_view)> write;
};

// One line for each field, in the order in which people look for them. The numbers of losses and
// miners are not in it: each loss and miner has its own.
const std::vector<Setting>& setting_table();

SettingKind kind_of_setting(std::string_view name);
// Whether settings have names that begin with `name` and a dot.
bool is_group(std::string_view name);

}  // namespace diml::training
