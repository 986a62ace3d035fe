// How long one photo takes at a server: from the first byte of the request to the last of the
// answer, beside the same query computed as a full batch of eight.

#include <algorithm>
#include <array>
#include <cstdio>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/stopwatch.h"
#include "base/system_error.h"
#include "base/temporary_folder.h"
#include "base/threads.h"
#include "bench_tools.h"
#include "command.h"
#include "critters/critters.h"
#include "diml/error.h"
#include "diml/searcher.h"
#include "diml/server.h"
#include "models/model.h"
#include "network_options.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

constexpr std::size_t kFullBatch = 8;
constexpr std::size_t kOfClass = 8;
constexpr int kQuality = 90;
constexpr std::size_t kTop = 10;
constexpr std::size_t kRerank = 100;

// One connection to a server on this machine.
class LoopbackClient {
 public:
  explicit LoopbackClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int yes = 1;
    const timeval patience{60, 0};
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      const int reason = errno;
      ::close(socket_);
      throw system_error("the benchmark's own server cannot be reached", reason);
    }
  }
  ~LoopbackClient() { ::close(socket_); }
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;

  // The answer to a photo, which must be 200.
  std::string search(const std::vector<std::uint8_t>& photo) {
    std::string request = "POST /v1/search?top=" + std::to_string(kTop) +
                          " HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n"
                          "Content-Length: " +
                          std::to_string(photo.size()) + "\r\n\r\n";
    request.append(photo.begin(), photo.end());
    for (std::size_t sent = 0; sent < request.size();) {
      const ssize_t count =
          ::send(socket_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) refuse();
      sent += static_cast<std::size_t>(count);
    }
    std::string answer;
    std::size_t end = std::string::npos;
    while ((end = answer.find("\r\n\r\n")) == std::string::npos) receive(answer);
    constexpr std::string_view kLength = "Content-Length: ";
    const std::size_t length = answer.find(kLength);
    if (!answer.starts_with("HTTP/1.1 200") || length == std::string::npos || length > end) {
      throw Error(ErrorKind::internal, "the benchmark's own server refused a photo: " +
                                           answer.substr(0, answer.find('\r')));
    }
    const std::size_t size = end + 4 + std::stoul(answer.substr(length + kLength.size()));
    while (answer.size() < size) receive(answer);
    return answer.substr(end + 4);
  }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorKind::internal, "the benchmark's own server did not answer");
  }
  void receive(std::string& answer) {
    std::array<char, 65536> block;
    const ssize_t count = ::recv(socket_, block.data(), block.size(), 0);
    if (count <= 0) refuse();
    answer.append(block.data(), static_cast<std::size_t>(count));
  }

  int socket_;
};

struct BenchServerCommand {
  NetworkOptions network;
  std::string backbone = "resnet50";
  std::size_t images = 64;
  std::size_t queries = 20;
  std::size_t grid = 4;
  int threads = 0;
  std::string json;

  void run();

 private:
  Image picture(std::size_t number) const {
    return draw_critter(
               {.classes = images / kOfClass + 2, .images_per_class = kOfClass, .size = 256},
               number / kOfClass, number % kOfClass)
        .image;
  }
  std::shared_ptr<GridStore> made(const std::string& folder, Embedder& embedder) const;
  void tell(const std::vector<double>& alone, const std::vector<double>& together,
            const char* name) const;
};

std::shared_ptr<GridStore> BenchServerCommand::made(const std::string& folder,
                                                    Embedder& embedder) const {
  const std::shared_ptr<GridStore> gallery = create_gallery(folder, embedder.format());
  const Progress progress = progress_bar("gallery");
  for (std::size_t first = 0; first < images; first += kFullBatch) {
    std::vector<NewItem> items;
    std::vector<Image> pictures;
    for (std::size_t k = first; k < std::min(images, first + kFullBatch); ++k) {
      pictures.push_back(picture(k));
      items.push_back({.path = "critter:" + std::to_string(k)});
    }
    gallery->add(items, embedder.embed(pictures, gallery->format().type).view());
    progress(first + items.size(), images);
  }
  return gallery;
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(place, values.size() - 1)];
}

void BenchServerCommand::tell(const std::vector<double>& alone, const std::vector<double>& together,
                              const char* name) const {
  JsonOutput output(json);
  const auto figures = [](const std::vector<double>& seconds) {
    return Json{{"median", 1e3 * median(seconds)}, {"p95", 1e3 * percentile(seconds, 0.95)}};
  };
  const double ratio = median(together) / median(alone);
  output.write({{"network", name},
                {"images", images},
                {"queries", queries},
                {"grid", grid},
                {"threads", thread_count(threads)},
                {"one_photo_ms", figures(alone)},
                {"batch_of_8_ms", figures(together)},
                {"ratio", ratio}});
  if (output.takes_standard_output()) return;
  std::printf("%s, %zu critters, %zu queries of one photo each, %d threads\n\n", name, images,
              queries, thread_count(threads));
  std::printf("%-44s %10s %10s\n", "", "median", "p95");
  const auto line = [](const char* what, const std::vector<double>& seconds) {
    std::printf("%-44s %7.1f ms %7.1f ms\n", what, 1e3 * median(seconds),
                1e3 * percentile(seconds, 0.95));
  };
  line("POST /v1/search with one photo", alone);
  line("the same, as a full batch of 8, without HTTP", together);
  std::printf("\none photo alone takes 1/%.1f of the time\n", ratio);
}

void BenchServerCommand::run() {
  { const JsonOutput told_before_the_work(json); }
  const TemporaryFolder scratch;
  EmbeddingParams params = network.with_threads(threads);
  params.grid = grid;
  if (params.model.empty()) {
    params.model = scratch.path() + "/random.safetensors";
    save_model(params.model, make_model(backbone, StridePlace::in_3x3, 128, 0));
  }
  Embedder embedder = open_embedder(params);
  const std::shared_ptr<GridStore> gallery = made(scratch.path() + "/gallery", embedder);
  const Searcher search(gallery, {.threads = threads});
  ServerParams served;
  served.port = 0;
  served.threads = threads;
  served.changes = ItemChanges::refused;
  Server server(gallery, std::make_unique<Embedder>(open_embedder(params)), "", served);
  LoopbackClient client(server.port());
  const std::vector<Crop> others(kFullBatch - 1, embedder.crop(picture(0)));
  std::vector<double> alone;
  std::vector<double> together;
  const Progress progress = progress_bar("query");
  // In turn, so that other load on the machine affects both.
  for (std::size_t q = 0; q <= queries; ++q) {
    const std::vector<std::uint8_t> photo =
        encode_jpeg(picture((q * 7) % (images + kOfClass)), kQuality);
    Stopwatch watch;
    (void)client.search(photo);
    const double of_one = watch.restart();
    std::vector<Crop> crops = others;
    crops.push_back(embedder.crop(decode_image(photo)));
    const GridSet grids = embedder.embed(crops, gallery->format().type);
    const GridView own = grids[kFullBatch - 1];
    (void)search.search(set_of({&own, 1}), kTop, {}, {.rerank = kRerank});
    const double of_eight = watch.seconds();
    progress(q, queries);
    if (q == 0) continue;  // warm-up
    alone.push_back(of_one);
    together.push_back(of_eight);
  }
  server.stop();
  tell(alone, together, network.params.model.empty() ? backbone.c_str() : "the model");
}

}  // namespace

Run define_bench_server(CLI::App& command) {
  auto options = std::make_shared<BenchServerCommand>();
  command.add_option("--model", options->network.params.model,
                     "Weights (.safetensors); random weights without it");
  command.add_option("--backbone", options->backbone, "Architecture of the random weights")
      ->check(CLI::IsMember(architecture_names()));
  options->network.define_running(command);
  command.add_option("--images", options->images, "Critters in the gallery")
      ->check(CLI::Range(8, 10'000));
  command.add_option("--queries", options->queries, "How many photos are sent, one after another")
      ->check(CLI::Range(1, 10'000));
  command.add_option("--grid", options->grid, "Cells per side")->check(CLI::Range(1, 14));
  define_threads(command, options->threads);
  command.add_option("--json", options->json, "The figures for programs; - for standard output");
  command.footer("Example:\n  diml bench server --backbone resnet50 --queries 20");
  return [options] { options->run(); };
}

}  // namespace diml::cli
