#include "pickle_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "checked.h"
#include "diml/error.h"

namespace diml::weights {
namespace {

constexpr std::array<std::pair<std::string_view, TensorType>, 8> kStorages = {{
    {"torch.FloatStorage", TensorType::float32},
    {"torch.HalfStorage", TensorType::float16},
    {"torch.BFloat16Storage", TensorType::bfloat16},
    {"torch.DoubleStorage", TensorType::float64},
    {"torch.LongStorage", TensorType::int64},
    {"torch.IntStorage", TensorType::int32},
    {"torch.ByteStorage", TensorType::uint8},
    {"torch.storage.UntypedStorage", TensorType::uint8},
}};

constexpr std::size_t kLongestPart = 100;  // longer than any that is allowed

}  // namespace

std::optional<TensorType> storage_type(std::string_view name) {
  const auto* const found = std::find_if(kStorages.begin(), kStorages.end(),
                                         [name](const auto& pair) { return pair.first == name; });
  if (found == kStorages.end()) return std::nullopt;
  return found->second;
}

std::string allowed_name(std::string_view module, std::string_view name) {
  // Cut, so that a long name that is used many times costs no time; a cut name is too long to be
  // allowed anyway.
  std::string whole(module.substr(0, kLongestPart));
  whole += '.';
  whole += name.substr(0, kLongestPart);
  if (whole == kOrderedDict || whole == kRebuildTensor || whole == kRebuildParameter ||
      whole == kSize || storage_type(whole)) {
    return whole;
  }
  if (whole.starts_with("torch.") && whole.ends_with("Storage")) {
    throw Error(ErrorKind::unsupported,
                "has a tensor of " + shown(whole) +
                    ": float32, float16, bfloat16, float64, int64, int32 and uint8 are read, " +
                    "convert it to one of them");
  }
  throw Error(ErrorKind::unsupported,
              "data.pkl asks for " + shown(whole) +
                  ": only tensors and plain containers are read; save model.state_dict() alone");
}

}  // namespace diml::weights
