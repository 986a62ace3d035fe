#include "ranks.h"

namespace diml::training {

std::unique_ptr<Ranks> join_ranks(const std::string& /*device*/) {
  return std::make_unique<Ranks>();
}

}  // namespace diml::training
