#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diml/embedder.h"
#include "diml/model.h"
#include "diml/threads.h"

namespace diml {

struct CentreParams {
  NetworkParams network{};
  std::string backend = "auto";
  Orientation orientation = Orientation::as_stored;
  BadImages bad = BadImages::stop;
};

struct Centred {
  Model model;
  std::vector<std::string> bad{};  // why some photos could not be read
};

// The model whose embeddings of these photos have no direction in common: their mean, before they
// are normalised, is taken off the projection's bias. Where all embeddings lie in a narrow cone,
// every cell resembles every other, and neither marginals nor plans tell them apart; without what
// is common to all they do. Photos of classes that were trained on: what is to be found should not
// be looked at. Throws where the model has no projection. nullopt where `stop`, which is asked now
// and then, said so.
std::optional<Centred> centred(const Model& model, std::span<const std::string> photos,
                               const CentreParams& params, const Progress& progress = {},
                               const std::function<bool()>& stop = {});

}  // namespace diml
