#include "species.h"

#include "base/random.h"

namespace diml::critters {
namespace {

constexpr std::size_t kFamily = 5;
constexpr std::size_t kOwnTraits = 3;

constexpr std::array<Colour, 12> kColours = {{
    {0.85, 0.20, 0.16},
    {0.95, 0.55, 0.15},
    {0.96, 0.84, 0.25},
    {0.38, 0.65, 0.25},
    {0.12, 0.45, 0.38},
    {0.25, 0.60, 0.85},
    {0.15, 0.25, 0.60},
    {0.50, 0.28, 0.62},
    {0.90, 0.55, 0.70},
    {0.45, 0.30, 0.18},
    {0.20, 0.20, 0.22},
    {0.93, 0.92, 0.88},
}};

}  // namespace

std::size_t choices(Trait trait) {
  switch (trait) {
    case body_shape:
    case head_size:
    case leg_length:
    case body_pattern:
    case cheek:
      return 3;
    case beak_shape:
    case wing_shape:
    case wing_pattern:
    case tail_shape:
    case crest_shape:
      return 4;
    default:
      return kColours.size();
  }
}

Colour colour_of(std::size_t choice) { return kColours[choice % kColours.size()]; }

Species species_of(std::uint64_t seed, std::size_t label) {
  Species species{};
  Random family(mixed_seed(seed, 11, label / kFamily));
  for (std::size_t trait = 0; trait < trait_count; ++trait) {
    species[trait] = family.below(choices(static_cast<Trait>(trait)));
  }
  Random own(mixed_seed(seed, 12, label));
  for (std::size_t k = 0; k < kOwnTraits; ++k) {
    const std::size_t trait = own.below(trait_count);
    const std::size_t count = choices(static_cast<Trait>(trait));
    species[trait] =
        (species[trait] + 1 + own.below(count - 1)) % count;  // differs from the family's choice
  }
  return species;
}

}  // namespace diml::critters
