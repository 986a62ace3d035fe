// A hundred thousand images: latency of re-ranking and search in the server. Takes half a minute
// and a gigabyte.

#include <algorithm>
#include <cstdio>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "base/temporary_folder.h"
#include "diml/gallery.h"
#include "diml/generated.h"
#include "diml/server.h"
#include "server/http_client.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kImages = 100'000;
constexpr std::size_t kStretch = 10'000;

std::shared_ptr<GridStore> generated_gallery(const std::string& folder) {
  const std::shared_ptr<GridStore> gallery =
      create_gallery(folder, {.cells_per_grid = 16, .dim = 128, .type = CellType::float16});
  for (std::size_t first = 0; first < kImages; first += kStretch) {
    const GeneratedGrids made = generate_grids({.size = kStretch,
                                                .classes = 100,
                                                .grid = 4,
                                                .dim = 128,
                                                .seed = first,
                                                .type = CellType::float16});
    std::vector<NewItem> items;
    for (std::size_t i = 0; i < kStretch; ++i) {
      items.push_back({std::to_string(first + i) + ".jpg", std::to_string(made.labels[i])});
    }
    gallery->add(items, made.grids.view());
  }
  return gallery;
}

class LargeGallery : public testing::Test {
 protected:
  // Milliseconds of each of these calls, by the server's own clock.
  static std::vector<double> times(int port, const std::string& path,
                                   const std::vector<Json>& calls) {
    HttpClient client(port);
    std::vector<double> all;
    for (const Json& call : calls) {
      const HttpResult answer = client.post(path, call.dump(), "application/json");
      if (!answer || answer->status != 200) throw std::runtime_error(path + " fails");
      const Json seconds = Json::parse(answer->body).at("seconds");
      all.push_back(1e3 * (seconds.is_object() ? seconds.at("search") : seconds).get<double>());
    }
    std::sort(all.begin(), all.end());
    std::printf("%s: least %.2f, median %.2f, p99 %.2f ms\n", path.c_str(), all.front(),
                all[all.size() / 2], all[all.size() * 99 / 100]);
    return all;
  }
};

TEST_F(LargeGallery, IsReRankedInTwoMillisecondsAndSearchedInFifteen) {
  const TemporaryFolder folder;
  const std::shared_ptr<GridStore> gallery = generated_gallery(folder / "g");
  Random random(7);
  const auto id = [&] { return random.below(kImages); };
  std::vector<Json> rerankings;
  std::vector<Json> searches;
  for (int k = 0; k < 200; ++k) {
    Json candidates = Json::array();
    const std::uint64_t first = id();
    for (std::uint64_t c = 0; c < 100; ++c) candidates.push_back((first + c * 997) % kImages);
    rerankings.push_back({{"query", id()}, {"candidates", candidates}});
    searches.push_back({{"query", id()}, {"top", 10}, {"rerank", 100}});
  }
  {
    const Server one_core(gallery, nullptr, "", {.port = 0, .threads = 1});
    const std::vector<double> all = times(one_core.port(), "/v1/rerank", rerankings);
    EXPECT_LE(all[all.size() / 2], 2.0);
  }
  const Server server(gallery, nullptr, "", {.port = 0, .threads = 2});
  const std::vector<double> all = times(server.port(), "/v1/search", searches);
  EXPECT_LE(all[all.size() / 2], 15.0);
}

}  // namespace
}  // namespace diml::test
