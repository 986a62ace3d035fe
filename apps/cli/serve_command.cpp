#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "command.h"
#include "diml/error.h"
#include "diml/input_file.h"
#include "diml/server.h"
#include "gallery_model.h"
#include "interrupt.h"
#include "options.h"

namespace diml::cli {
namespace {

constexpr const char* kTokenVariable = "DIML_TOKEN";
constexpr std::size_t kBatchOnACard = 32;

struct ServeCommand {
  std::string gallery;
  ServerParams params;
  std::string token_file;
  bool read_only = false;
  std::size_t most_megabytes = params.limits.body >> 20;
  std::size_t most_megapixels = params.limits.pixels / 1'000'000;
  MatchOptions match;
  NetworkOptions network;

  void run();

 private:
  std::string token() const;
  void warn(const std::string& line) const {
    std::fprintf(stderr, "diml serve: %s\n", line.c_str());
  }
};

// Not an option: everybody on the machine can read those.
std::string ServeCommand::token() const {
  std::string text;
  if (!token_file.empty()) {
    const std::vector<std::uint8_t> bytes = read_file(token_file);
    text.assign(bytes.begin(), bytes.end());
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (text.empty()) throw Error(token_file + ": holds no token");
  } else if (const char* variable = std::getenv(kTokenVariable)) {
    text = variable;
  }
  for (const char c : text) {
    if (c <= ' ' || c > '~') throw Error("a token is of visible ASCII characters, without spaces");
  }
  return text;
}

void ServeCommand::run() {
  params.match = match.params();
  params.matcher = match.matcher;
  params.threads = match.threads;
  params.token = token();
  params.limits.body = most_megabytes << 20;
  params.limits.pixels = most_megapixels * 1'000'000;
  params.changes = read_only ? ItemChanges::refused : ItemChanges::allowed;
  const StoreAccess access = read_only ? StoreAccess::read : StoreAccess::write;
  const std::shared_ptr<GridStore> opened = open_gallery(gallery, access);
  std::unique_ptr<Embedder> embedder;
  std::string why_no_photos;
  try {
    EmbedderSettings settings = settings_of(network, match.threads);
    // Photos come a few at a time, and a card runs whole batches.
    if (settings.device != "cpu") settings.batch = kBatchOnACard;
    OpenedEmbedder found = open_embedder_of(*opened, std::move(settings));
    embedder = std::make_unique<Embedder>(std::move(found.embedder));
  } catch (const Error& error) {
    // Without a model it still searches and compares what is there.
    if (!network.model.empty()) throw;
    why_no_photos = std::string("this server cannot take photos: ") + error.what();
    warn(why_no_photos);
  }
  params.log = [this](const std::string& line) { warn(line); };
  const Interrupt interrupt;
  Server server(opened, std::move(embedder), why_no_photos, params);
  const bool here =
      params.host == "127.0.0.1" || params.host == "localhost" || params.host == "::1";
  if (!here && params.token.empty()) {
    warn("everybody who reaches " + params.host + " may search and change the gallery: set " +
         kTokenVariable + " or --token-file");
  }
  const std::string host =
      params.host.find(':') == std::string::npos ? params.host : "[" + params.host + "]";
  std::printf("http://%s:%d/ serves %s (%zu images); Ctrl-C ends it\n", host.c_str(), server.port(),
              gallery.c_str(), opened->snapshot()->size());
  std::fflush(stdout);
  while (!Interrupt::asked()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  server.stop();
}

}  // namespace

Run define_serve(CLI::App& command) {
  auto options = std::make_shared<ServeCommand>();
  ServerParams& params = options->params;
  command.add_option("gallery", options->gallery, "The gallery's folder")->required();
  command.add_option("--host", params.host, "Address to listen at; 0.0.0.0 for all")
      ->capture_default_str();
  command.add_option("--port", params.port, "Port to listen at; 0 for any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_option("--token-file", options->token_file,
                     "File with the token that requests must bear; or in DIML_TOKEN");
  command.add_flag("--read-only", options->read_only, "Nothing is added or deleted");
  command
      .add_option("--most-megabytes", options->most_megabytes, "Largest body of a request, in MiB")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--most-megapixels", options->most_megapixels, "Largest photo")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--connections", params.limits.connections, "Clients at the same time")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command
      .add_option("--workers", params.limits.workers,
                  "Requests that are computed at the same time; 0 for as many as cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option("--seconds", params.limits.answer_seconds,
                  "For how long a request may wait for others")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command
      .add_option("--first-stage", params.source,
                  "exact, cuda, or index for the one that 'diml index cache' made")
      ->capture_default_str();
  define_running(command, options->network);
  options->match.define(command);
  return [options] { options->run(); };
}

}  // namespace diml::cli
