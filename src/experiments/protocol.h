#pragma once

#include <string>

#include "experiments/experiments.h"

namespace diml::experiments {

// Values of Protocol::setting.
inline constexpr const char* kCalibrated = "calibrated";
inline constexpr const char* kCalibratedHeldOut = "calibrated_held_out";

// Sets a field by its name. Throws on an unknown name, with the nearest known one, and on a value
// that the field cannot have.
void set(Protocol& protocol, const std::string& name, const std::string& value);

// Throws on values that do not fit, before a network is trained for hours.
void check(const Protocol& protocol, MetricFamily metric_family);

// The fields by name, without empty ones; and back, with defaults for missing ones.
Settings settings_of(const Protocol& protocol);
Protocol protocol_from(const Settings& settings);

}  // namespace diml::experiments
