#pragma once

#include "diml/gallery_embedder.h"
#include "network_options.h"

namespace diml::cli {

// How a network is run, for commands that take the rest from a gallery.
void define_running(CLI::App& command, NetworkOptions& network);

EmbedderSettings settings_of(const NetworkOptions& network, int threads);

}  // namespace diml::cli
