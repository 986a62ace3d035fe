#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weights/weights.h"

namespace diml::weights {

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kRebuildTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kRebuildParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kSize = "torch.Size";

// The element type of torch.FloatStorage and similar names.
std::optional<TensorType> storage_type(std::string_view name);

// module.name, or an Error that contains it. All names pass through here: a name that is not
// allowed here is not used anywhere.
std::string allowed_name(std::string_view module, std::string_view name);

}  // namespace diml::weights
