#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace diml::critters {

struct Colour {
  double red, green, blue;
};

// The appearance of a class: one choice for each trait. Drawing turns the choices into shapes and
// colours.
enum Trait : std::size_t {
  body_shape,
  body_colour,
  belly_colour,
  body_pattern,
  head_size,
  head_colour,
  eye_colour,
  cheek,
  beak_shape,
  beak_colour,
  wing_shape,
  wing_colour,
  wing_pattern,
  tail_shape,
  tail_colour,
  leg_length,
  leg_colour,
  crest_shape,
  crest_colour,
  trait_count
};

using Species = std::array<std::size_t, trait_count>;

// The number of choices of a trait.
std::size_t choices(Trait trait);

// Families of five: a family has a random appearance, and each member changes three traits.
Species species_of(std::uint64_t seed, std::size_t label);

Colour colour_of(std::size_t choice);

}  // namespace diml::critters
