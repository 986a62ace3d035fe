#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include "access_log.h"
#include "base/input_file.h"
#include "base/shown_text.h"
#include "calibrated.h"
#include "command.h"
#include "diml/error.h"
#include "diml/gallery_images.h"
#include "diml/server.h"
#include "gallery/reopening_store.h"
#include "gallery_command.h"
#include "interrupt.h"
#include "messages.h"
#include "network_options.h"
#include "options.h"

namespace diml::cli {
namespace {

constexpr const char* kTokenVariable = "DIML_TOKEN";
constexpr std::size_t kBatchOnACard = 32;

volatile std::sig_atomic_t reload_asked = 0;

struct ServeCommand {
  std::string gallery;
  ServerParams params;
  std::string token_file;
  AccessLogFormat access_log = AccessLogFormat::off;
  std::string access_log_file;
  bool read_only = false;
  bool no_originals = false;
  std::size_t most_megabytes = params.limits.body >> 20;
  std::size_t most_megapixels = params.limits.pixels / 1'000'000;
  double most_work = params.limits.work / 1e9;
  MatchOptions match;
  NetworkOptions network;
  bool no_calibration = false;
  const CLI::App* command = nullptr;  // tells which options were given

  void run();

 private:
  std::vector<AccessToken> tokens() const;
  void reload(Server& server) const;
  void warn_of_open_doors() const;
  std::string address(int port) const;
  void warn(const std::string& line) const { say(LogLevel::warning, "diml serve: " + line); }
  void tell_settings(const GridStore& opened, const Embedder* embedder) const;
};

// Not an option: all users of the machine can read options.
std::vector<AccessToken> ServeCommand::tokens() const {
  if (!token_file.empty()) {
    const std::vector<std::uint8_t> bytes = read_file(token_file);
    return parse_tokens({bytes.begin(), bytes.end()}, token_file);
  }
  const char* variable = std::getenv(kTokenVariable);
  if (variable == nullptr || *variable == '\0') return {};
  return {{"token", variable, TokenRights::write}};
}

// A file that cannot be used changes nothing: the server goes on with the tokens that it has.
void ServeCommand::reload(Server& server) const {
  if (token_file.empty()) return warn("nothing to read again: SIGHUP is for --token-file");
  try {
    std::vector<AccessToken> fresh = tokens();
    const std::size_t count = fresh.size();
    server.set_tokens(std::move(fresh));
    say(LogLevel::debug, "diml serve: reloaded " + std::to_string(count) + " tokens");
  } catch (const Error& error) {
    warn(std::string("the tokens stay as they are: ") + error.what());
  }
}

void ServeCommand::warn_of_open_doors() const {
  if (!params.tokens.empty() || !params.socket.empty()) return;
  const bool here =
      params.host == "127.0.0.1" || params.host == "localhost" || params.host == "::1";
  if (here) return;
  warn("every client of " + params.host + " can search and change the gallery: set " +
       kTokenVariable + " or --token-file");
  if (params.allowed_hosts.empty()) {
    warn(
        "without a token it answers only to the names localhost and 127.0.0.1: name others with "
        "--allow-host");
  }
}

std::string ServeCommand::address(int port) const {
  if (!params.socket.empty()) return params.socket;
  const bool is_six = params.host.find(':') != std::string::npos;
  return "http://" + (is_six ? "[" + params.host + "]" : params.host) + ":" + std::to_string(port) +
         "/";
}

void ServeCommand::tell_settings(const GridStore& opened, const Embedder* embedder) const {
  const auto tell = [](const std::string& line) { say(LogLevel::debug, "diml serve: " + line); };
  tell("grids of " + shape_text(opened.format()) + ", first stage " + params.source + ", matcher " +
       diml::name_of(params.backend));
  if (embedder != nullptr) {
    tell("photos: " + opened.format().model + " by " + embedder->network_name() + " on " +
         embedder->params().device + ", " + std::to_string(embedder->params().batch) + " at once");
  }
  tell(std::to_string(params.limits.connections) + " connections, bodies of " +
       std::to_string(most_megabytes) + " MiB, photos of " + std::to_string(most_megapixels) +
       " megapixels, waiting " + std::to_string(params.limits.answer_seconds) + " s" +
       (params.tokens.empty() ? ", no token"
                              : ", " + std::to_string(params.tokens.size()) + " tokens") +
       (read_only ? ", read-only" : ", changes allowed"));
}

void ServeCommand::run() {
  if (!access_log_file.empty() && access_log == AccessLogFormat::off) {
    access_log = AccessLogFormat::common;
  }
  params.match = match.params();
  params.backend = match.backend;
  params.threads = match.threads;
  params.tokens = tokens();
  params.limits.body = most_megabytes << 20;
  params.limits.pixels = most_megapixels * 1'000'000;
  params.limits.work = most_work * 1e9;
  params.changes = read_only ? ItemChanges::refused : ItemChanges::allowed;
  params.originals = no_originals ? Originals::hidden : Originals::shown;
  const StoreAccess access = read_only ? StoreAccess::read : StoreAccess::write;
  const auto open = [this, access] { return open_gallery(gallery, access); };
  const std::shared_ptr<GridStore> opened =
      std::make_shared<diml::gallery::ReopeningStore>(open(), open);
  if (const std::string caution = opened->caution(); !caution.empty()) warn(caution);
  const std::size_t side = shape_of_cells(opened->format().cells_per_grid).rows;
  const auto depth = use_calibration(calibration_of(opened->format()), side, *command,
                                     {params.match, params.weights});
  if (depth) params.rerank = *depth;
  std::unique_ptr<Embedder> embedder;
  std::string why_no_photos;
  try {
    EmbeddingParams wanted = network.with_threads(match.threads);
    // Few photos arrive at a time, and a GPU runs whole batches.
    if (wanted.device != "cpu" && wanted.batch == 0) wanted.batch = kBatchOnACard;
    embedder = std::make_unique<Embedder>(open_embedder_of(*opened, std::move(wanted)));
  } catch (const Error& error) {
    // Without a model the server still searches and compares images of the gallery.
    if (!network.params.model.empty()) throw;
    why_no_photos = std::string("this server does not accept photos: ") + error.what();
    warn(why_no_photos);
  }
  params.log = [this](const std::string& line) { warn(line); };
  std::unique_ptr<AccessLog> log;
  if (access_log != AccessLogFormat::off) {
    log = std::make_unique<AccessLog>(access_log, access_log_file, params.log);
    params.served = [&log](const ServedRequest& request) { log->add(request); };
  }
  tell_settings(*opened, embedder.get());
  const Interrupt interrupt;
  Server server(opened, std::move(embedder), why_no_photos, params);
  // A closed terminal ends a server without a token file; a service manager's reload must not.
  if (!token_file.empty() || ::isatty(STDIN_FILENO) == 0) {
    std::signal(SIGHUP, [](int) { reload_asked = 1; });
  }
  warn_of_open_doors();
  std::printf("%s serves %s (%zu images); Ctrl-C ends it\n", shown(address(server.port())).c_str(),
              shown(opened->name()).c_str(), opened->snapshot()->size());
  std::fflush(stdout);
  while (!Interrupt::asked()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (reload_asked == 0) continue;
    reload_asked = 0;
    reload(server);
  }
  server.stop();
}

}  // namespace

Run define_serve(CLI::App& command) {
  auto options = std::make_shared<ServeCommand>();
  ServerParams& params = options->params;
  command.add_option("gallery", options->gallery, kGalleryHelp)->required();
  command.add_option("--host", params.host, "Address to listen at; 0.0.0.0 for all");
  command.add_option("--port", params.port, "Port to listen at; 0 for any that is free")
      ->check(CLI::Range(0, 65535));
  command
      .add_option("--socket", params.socket,
                  "Path of a Unix socket to listen at instead, for a proxy on this machine")
      ->excludes("--host")
      ->excludes("--port");
  command.add_option("--token-file", options->token_file,
                     "File with tokens that requests must send, 'read NAME TOKEN' or 'write NAME "
                     "TOKEN' on each line; SIGHUP reloads it. Or set DIML_TOKEN");
  command
      .add_option("--allow-host", params.allowed_hosts,
                  "A host name by which clients call this server (photos.example); without a token "
                  "it answers no others but localhost; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--read-only", options->read_only,
                   "Refuse to add or delete images; the gallery may belong to another user");
  command.add_flag("--no-originals", options->no_originals,
                   "Show thumbnails only, not the photos from their files");
  command
      .add_option("--allow-origin", params.allowed_origins,
                  "A site whose pages may use this server from a browser (CORS), exactly: "
                  "https://shop.example; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_choice(command, "--access-log", options->access_log, access_log_format_from,
             "A line for each request: common (Common Log Format), json or off");
  command.add_option("--access-log-file", options->access_log_file,
                     "File of these lines; without it they go to standard error");
  command
      .add_option("--trusted-proxy", params.trusted_proxies,
                  "Address of a proxy whose X-Forwarded-For names the client, for the access log "
                  "and for shares; 'unix' with --socket; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--most-megabytes", options->most_megabytes, "Largest body of a request, in MiB")
      ->check(CLI::Range(1, 1024));
  command.add_option("--most-megapixels", options->most_megapixels, "Largest photo")
      ->check(CLI::Range(1, 1000));
  command
      .add_option("--connections", params.limits.connections,
                  "Open connections at the same time, half of them by one address")
      ->check(CLI::Range(1, 10'000));
  command
      .add_option("--workers", params.limits.workers,
                  "Requests that are computed at the same time; 0 for the number of cores")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--seconds", params.limits.answer_seconds,
                  "How long a request may wait for other requests and be computed")
      ->check(CLI::Range(0.1, 3600.0));
  command
      .add_option("--write-seconds", params.limits.write_seconds,
                  "How long a change may wait for another process that writes to the gallery")
      ->check(CLI::Range(0.1, 3600.0));
  command
      .add_option("--most-work", options->most_work,
                  "Steps of matching of one request, in billions: pairs x cells x cells x "
                  "iterations; a hundred times as many where lambda is below 0.0034")
      ->check(CLI::Range(0.001, 1e9));
  command
      .add_option("--grace", params.limits.stop_seconds,
                  "How long running requests may go on after SIGTERM or Ctrl-C, in seconds")
      ->check(CLI::Range(0.0, 3600.0));
  command.add_option(
      "--first-stage", params.source,
      "exact, cuda, or an index built by 'diml index cache': index, or pgvector in PostgreSQL");
  options->network.define_running_of_gallery(command);
  command.get_option("--batch")->description(
      "Waiting photos that the network takes at once; 8, or 32 on a GPU. A photo never waits for "
      "others to come");
  options->match.define(command);
  define_no_calibration(command, options->no_calibration);
  options->command = &command;
  return [options] { options->run(); };
}

}  // namespace diml::cli
