#include "engine/open_network.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/input_file.h"
#include "base/sha256.h"
#include "diml/embedder.h"
#include "diml/error.h"
#include "engine/torch_plugin.h"
#include "models/onednn_network.h"

namespace diml {
namespace {

namespace fs = std::filesystem;

// PyTorch writes programs as zip archives, as it does weights; weights must be imported first.
bool is_zip(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[2] = {};
  return file.read(magic, 2) && magic[0] == 'P' && magic[1] == 'K';
}

#if DIML_HAS_TORCH
Preprocessing read_sidecar(const std::string& model) {
  Preprocessing preprocessing;
  const std::string path = fs::path(model).replace_extension(".json").string();
  if (!fs::exists(path)) return preprocessing;
  const std::vector<std::uint8_t> bytes = read_file(path);
  const nlohmann::json json = nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!json.is_object()) {
    throw Error(path +
                ": must be a JSON object such as {\"resize\": 256, \"crop\": 224, "
                "\"channels\": \"rgb\", \"mean\": [123.7, 116.3, 103.5]}");
  }
  std::map<std::string, std::string> text;
  for (const auto& [name, value] : json.items()) {
    if (value.is_array()) {
      for (const auto& one : value) text[name] += one.dump() + " ";
    } else {
      text[name] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  try {
    from_text(text, preprocessing);
  } catch (const Error& error) {
    throw with_context(error, path + ": ");
  }
  return preprocessing;
}
#endif

Model load_own_model(const std::string& path) {
  try {
    return load_model(path);
  } catch (const Error& error) {
    if (fs::path(path).extension() == ".safetensors") throw;
    throw Error(error.kind(), error.what() + std::string("; weights of other kinds are imported"),
                "import_model");
  }
}

}  // namespace

std::vector<NetworkBackend> network_backends() {
  return {
#if DIML_HAS_ONEDNN
    NetworkBackend::onednn,
#endif
#if DIML_HAS_TORCH
        NetworkBackend::torch,
#endif
  };
}

std::unique_ptr<Network> make_network(const Model& model, const EmbeddingParams& params) {
  const std::vector<NetworkBackend> known = network_backends();
  if (known.empty()) {
    throw Error(ErrorKind::unsupported,
                "this build runs no networks: install libdnnl-dev or libtorch-dev and build again");
  }
  const bool on_card = params.device != "cpu";
#if !DIML_HAS_TORCH
  if (on_card) {
    throw Error(ErrorKind::unsupported,
                "device " + params.device +
                    ": this build runs networks on the CPU alone; cuda needs LibTorch");
  }
#endif
  if (on_card && params.backend == NetworkBackend::onednn) {
    throw Error("onednn runs on the CPU: device " + params.device + " needs backend torch");
  }
  NetworkBackend backend = params.backend;
  if (backend == NetworkBackend::fastest) backend = on_card ? NetworkBackend::torch : known.front();
#if DIML_HAS_ONEDNN
  if (backend == NetworkBackend::onednn) return make_onednn_network(model, params);
#endif
#if DIML_HAS_TORCH
  if (backend == NetworkBackend::torch) return torch_plugin().make_network(model, params, {});
#endif
  throw Error(ErrorKind::unsupported, std::string("this build has no backend ") + name_of(backend) +
                                          ": auto takes " + name_of(known.front()));
}

std::string cache_folder() {
  const auto from = [](const char* variable) -> std::string {
    const char* value = std::getenv(variable);
    return value == nullptr ? "" : value;
  };
  if (std::string own = from("DIML_CACHE"); !own.empty()) return own;
  if (const std::string shared = from("XDG_CACHE_HOME"); !shared.empty()) return shared + "/diml";
  const std::string home = from("HOME");
  return (home.empty() ? "." : home) + "/.cache/diml";
}

std::string located_model(const std::string& path) {
  if (fs::exists(path)) return path;
  const fs::path kept = fs::path(cache_folder()) / (path + ".safetensors");
  if (fs::path(path).filename() == path && fs::exists(kept)) return kept.string();
  throw Error(ErrorKind::not_found,
              path +
                  ": there is no such model: name a .safetensors file or a TorchScript program, "
                  "or fetch one",
              "fetch_model");
}

OpenedNetwork open_network(const EmbeddingParams& params) {
  const std::string file = located_model(params.model);
  OpenedNetwork opened;
  if (is_zip(file)) {
#if DIML_HAS_TORCH
    opened.preprocessing = read_sidecar(file);
    from_text(params.preprocessing, opened.preprocessing);
    opened.network = torch_plugin().load_torchscript(file, params);
#else
    throw Error(ErrorKind::unsupported,
                file + ": TorchScript programs need libtorch-dev, which this build is without");
#endif
  } else {
    const Model model = load_own_model(file);
    opened.preprocessing = model.preprocessing;
    opened.calibration = model.calibration;
    from_text(params.preprocessing, opened.preprocessing);
    opened.network = make_network(model, params);
  }
  opened.fingerprint = sha256_of_file(file);
  opened.path = fs::absolute(file).lexically_normal().string();
  return opened;
}

Embedder open_embedder(const EmbeddingParams& params) {
  OpenedNetwork opened = open_network(params);
  EmbeddingParams own = params;
  own.model = opened.path;
  return {std::move(opened.network), opened.preprocessing, std::move(own),
          std::move(opened.fingerprint), std::move(opened.calibration)};
}

std::optional<Calibration> calibration_of_model(const std::string& model) {
  const std::string file = located_model(model);
  return is_zip(file) ? std::nullopt : load_own_model(file).calibration;
}

std::optional<Calibration> calibration_of(const GridFormat& format) {
  return calibration_from(format.embedding);
}

}  // namespace diml
