#include "models/model_config.h"

#include "diml/error.h"
#include "fuzz/fuzz_target.h"

namespace {

void read(std::span<const std::uint8_t> bytes) {
  diml::ModelConfig config;
  config.read(bytes);
  diml::Preprocessing photos;
  from_text(config.preprocessing, photos);
}

}  // namespace

DIML_FUZZ_TARGET(read)
