#pragma once

#include <functional>
#include <span>
#include <string>

#include "diml/embedder.h"
#include "diml/model.h"
#include "diml/threads.h"

namespace diml {

struct CentreParams {
  NetworkParams network{};
  std::string backend = "auto";
  Orientation orientation = Orientation::as_stored;
};

// The model whose embeddings of these photos have no direction in common: their mean, before they
// are normalised, is taken off the projection's bias. Where all embeddings lie in a narrow cone,
// every cell resembles every other, and neither marginals nor plans tell them apart; without what
// is common to all they do. Photos of classes that were trained on: what is to be found should not
// be looked at. Throws where the model has no projection. stop: asked now and then; yes ends it
// with an error.
Model centred(const Model& model, std::span<const std::string> photos, const CentreParams& params,
              const Progress& progress = {}, const std::function<bool()>& stop = {});

}  // namespace diml
