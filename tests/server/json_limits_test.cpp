// JSON that a small client could stop the server with: refused at once, and nothing of it stored.

#include <chrono>

#include "base/json_limits.h"
#include "input.h"
#include "refusal.h"
#include "search/item_metadata.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string names(std::size_t count, const std::string& first = "") {
  std::string text = "{" + first;
  for (std::size_t k = 0; k < count; ++k) {
    if (text.size() > 1) text += ',';
    text += "\"k" + std::to_string(k) + "\":1";
  }
  return text + "}";
}

std::string nested(std::size_t depth) {
  std::string text = "{\"a\":";
  for (std::size_t k = 1; k < depth; ++k) text += '[';
  text += '1';
  for (std::size_t k = 1; k < depth; ++k) text += ']';
  return text + "}";
}

class JsonLimitsOfServer : public ServedGallery {
 protected:
  HttpResult posted_text(const std::string& path, const std::string& text) const {
    return client().post(path, text, "application/json");
  }
  HttpResult added(const std::string& metadata) const {
    return client().post("/v1/items", {{"image", photo(1), "new.jpg", "image/jpeg"},
                                       {"metadata", metadata, "", ""}});
  }
  HttpResult changed(const std::string& metadata) const {
    return client().send("PATCH", "/v1/items/0", {{"Content-Type", "application/json"}},
                         "{\"metadata\": " + metadata + "}");
  }
};

TEST_F(JsonLimitsOfServer, ManyNamesAreRefusedAtOnce) {
  const std::string text = names(80'000);
  const auto start = Clock::now();
  expect_refused(posted_text("/v1/search", text), 422, "an object of more than 1024 names");
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(1));
}

TEST_F(JsonLimitsOfServer, EachLimitIsToldToTheClient) {
  const auto post = [&](const std::string& text) { return posted_text("/v1/search", text); };
  expect_refused(post(nested(17)), 422, "nested deeper than 16 levels");
  expect_refused(post("{\"query\":" + std::string(1'000'000, '[')), 422, "nested deeper");
  expect_refused(post("{\"query\": \"" + std::string(1'048'577, 'x') + "\"}"), 422,
                 "a text of more than 1048576 bytes");
  std::string many = "{\"query\": [";
  for (int k = 0; k < 4'000'001; ++k) many += "1,";
  expect_refused(post(many + "1]}"), 422, "more than 4000000 values");
  std::string objects = "{\"query\": [";
  for (int k = 0; k < 70; ++k) objects += names(1000) + ",";
  expect_refused(post(objects + "1]}"), 422, "more than 65536 names");
}

TEST_F(JsonLimitsOfServer, TheLargestRequestThatTheLimitsAllowIsRead) {
  // 10,000 candidates with two names each: refused for what they are, not for their number.
  Json body = {{"query", 0}, {"candidates", Json::array()}};
  for (int k = 0; k < 10'000; ++k) body["candidates"].push_back({{"cells", {1}}, {"global", {1}}});
  expect_refused(post_json("/v1/rerank", body), 422, "needs 16 cells");
}

TEST_F(JsonLimitsOfServer, MetadataBeyondALimitIsNotStored) {
  const std::size_t before = gallery_->snapshot()->size();
  const std::string was = gallery_->snapshot()->item(0).metadata;
  const std::string long_text = "{\"a\": \"" + std::string(17'000, 'x') + "\"}";
  std::string large = "{\"a\": [";
  for (int k = 0; k < 10; ++k) large += "\"" + std::string(8'000, 'x') + "\",";
  large += "1]}";
  std::string values = "{\"a\": [";
  for (int k = 0; k < 9'000; ++k) values += "1,";
  values += "1]}";
  for (const auto& [text, status, why] : std::vector<std::tuple<std::string, int, std::string>>{
           {names(1025), 422, "names"},
           {nested(17), 422, "nested deeper than 16 levels"},
           {long_text, 422, "a text of more than 16384 bytes"},
           {values, 422, "more than 8192 values"},
           {large, 413, "at most 65536 are allowed"}}) {
    expect_refused(added(text), status, why);
    // One level and one name are those of the request.
    if (text.size() < 100'000) expect_refused(changed(text), status, why);
  }
  EXPECT_EQ(gallery_->snapshot()->size(), before);
  EXPECT_EQ(gallery_->snapshot()->item(0).metadata, was);
  EXPECT_EQ(added(names(1024))->status, 201);
  EXPECT_EQ(changed(names(1000))->status, 200);
}

TEST_F(JsonLimitsOfServer, TheGalleryTellsThem) {
  const Json limits = got("/v1/gallery").at("limits");
  EXPECT_EQ(limits.at("json_depth"), 16);
  EXPECT_EQ(limits.at("json_names_of_object"), 1024);
  EXPECT_EQ(limits.at("json_names"), 65'536);
  EXPECT_EQ(limits.at("json_text_bytes"), 1'048'576);
  EXPECT_EQ(limits.at("json_values"), 4'000'000);
  EXPECT_EQ(limits.at("metadata_bytes"), 65'536);
  EXPECT_EQ(limits.at("metadata_names"), 1024);
  EXPECT_EQ(limits.at("work"), 1e11);
  EXPECT_EQ(limits.at("seconds"), 30.0);
}

int status_of_parsing(const std::string& text, const server::Patience& patience) {
  try {
    server::parse_object(text, patience);
  } catch (const server::Refusal& refusal) {
    return refusal.status();
  }
  return 200;
}

TEST(ParseObject, EndsWhenTheClientIsGoneOrTheTimeIsUp) {
  std::string text = "{\"a\": [";
  for (int k = 0; k < 500'000; ++k) text += "1,";
  text += "1]}";
  const auto later = server::after(100.0);
  EXPECT_EQ(status_of_parsing(text, {.deadline = later}), 200);
  EXPECT_EQ(status_of_parsing(text, {.deadline = Clock::now()}), 503);
  EXPECT_EQ(status_of_parsing(text, {.deadline = later, .client_is_gone = [] { return true; }}),
            499);
  EXPECT_EQ(status_of_parsing(text, {.deadline = later, .server_ends = [] { return true; }}), 503);
}

}  // namespace
}  // namespace diml::test
