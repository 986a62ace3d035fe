#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "diml/weights.h"

namespace diml::weights {

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kSize = "torch.Size";

// The type of elements of torch.FloatStorage and its kin.
std::optional<TensorType> storage_type(std::string_view name);

// module.name, or an Error that names what was asked for. The only door to names: what is not let
// in here cannot be asked for anywhere.
std::string allowed_name(std::string_view module, std::string_view name);

}  // namespace diml::weights
