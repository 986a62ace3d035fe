#include "diml/network.h"

#include "diml/error.h"

namespace diml {

Precision precision_from(std::string_view name) {
  if (name == "float32") return Precision::float32;
  if (name == "bfloat16") return Precision::bfloat16;
  throw Error("unknown precision '" + std::string(name) + "': float32 or bfloat16");
}

const char* name_of(Precision precision) {
  return precision == Precision::bfloat16 ? "bfloat16" : "float32";
}

}  // namespace diml
