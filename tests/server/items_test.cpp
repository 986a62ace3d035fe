// What a gallery holds, over HTTP: lists, thumbnails, additions, deletions.

#include <atomic>
#include <thread>

#include "diml/image.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

class Items : public ServedGallery {
 protected:
  HttpResult add(std::size_t image, const std::string& path,
                 std::vector<FormItem> more = {}) const {
    more.push_back({"image", photo(image), path, "image/jpeg"});
    return client().post("/v1/items", more);
  }
};

TEST_F(Items, AreListedInPagesAndByLabel) {
  const Json all = got("/v1/items?limit=100");
  EXPECT_EQ(all.at("total"), kImages);
  ASSERT_EQ(all.at("items").size(), kImages);
  EXPECT_EQ(
      all["items"][5],
      Json({{"id", 5}, {"path", "critters/5.jpg"}, {"label", 1}, {"metadata", {{"number", 5}}}}));
  const Json page = got("/v1/items?offset=20&limit=10");
  ASSERT_EQ(page.at("items").size(), 4u);
  EXPECT_EQ(page["items"][0].at("id"), 20);
  const Json third = got("/v1/items?label=3");
  EXPECT_EQ(third.at("total"), kOfClass);
  for (const Json& item : third.at("items")) EXPECT_EQ(item.at("label"), 3);
  EXPECT_EQ(got("/v1/items?label=77").at("total"), 0);
  EXPECT_EQ(got("/v1/items?offset=999").at("items").size(), 0u);
  EXPECT_EQ(got("/v1/items/7").at("path"), "critters/7.jpg");
}

TEST_F(Items, ThumbnailsAreSentOnceWhileTheyAreKnown) {
  const HttpResult answer = client().get("/v1/items/7/thumbnail");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header("Content-Type"), "image/jpeg");
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(answer->body.data());
  EXPECT_EQ(decode_image({bytes, answer->body.size()}).width, 96u);
  const HttpHeaders known = {{"If-None-Match", answer->header("ETag")}};
  EXPECT_EQ(client().get("/v1/items/7/thumbnail", known)->status, 304);
  EXPECT_EQ(client().get("/v1/items/8/thumbnail", known)->status, 200);
}

TEST_F(Items, WhatIsAddedIsFoundAndWhatIsDeletedIsNot) {
  const HttpResult added =
      client().post("/v1/items", {{"image", photo(2), "mine.jpg", "image/jpeg"},
                                  {"label", "42"},
                                  {"metadata", "{\"from\": \"me\"}"}});
  ASSERT_TRUE(added);
  ASSERT_EQ(added->status, 201) << added->body;
  const std::int64_t id = Json::parse(added->body).at("ids")[0];
  EXPECT_EQ(Json::parse(added->body).at("items"), kImages + 1);
  const Json item = got("/v1/items/" + std::to_string(id));
  EXPECT_EQ(item.at("path"), "mine.jpg");
  EXPECT_EQ(item.at("label"), 42);
  EXPECT_EQ(item.at("metadata").at("from"), "me");
  EXPECT_EQ(got("/v1/items?label=42").at("total"), 1);
  const Json hits = posted("/v1/search", {{"query", 2}, {"top", 3}}).at("hits");
  EXPECT_EQ(hits[0].at("id"), id);

  const HttpResult deleted = client().remove("/v1/items/" + std::to_string(id));
  ASSERT_TRUE(deleted);
  EXPECT_EQ(deleted->status, 200);
  EXPECT_EQ(Json::parse(deleted->body).at("items"), kImages);
  expect_refused(client().get("/v1/items/" + std::to_string(id)), 404, "there is no item");
  expect_refused(client().remove("/v1/items/" + std::to_string(id)), 404, "there is no item");
  const Json left = posted("/v1/search", {{"query", 2}, {"top", 30}});
  for (const Json& hit : left.at("hits")) {
    EXPECT_NE(hit.at("id"), id);
  }
}

TEST_F(Items, SeveralAtOnceAreAddedTogetherOrNotAtAll) {
  const HttpResult two = client().post("/v1/items", {{"image", photo(0), "a.jpg", "image/jpeg"},
                                                     {"image", photo(1), "b.jpg", "image/jpeg"}});
  ASSERT_TRUE(two);
  EXPECT_EQ(Json::parse(two->body).at("ids").size(), 2u);
  const HttpResult bad = client().post("/v1/items", {{"image", photo(0), "c.jpg", "image/jpeg"},
                                                     {"image", "no image", "d.jpg", "image/jpeg"}});
  expect_refused(bad, 415, "is no JPEG, PNG or WebP image");
  EXPECT_EQ(got("/v1/items").at("total"), kImages + 2);
}

TEST_F(Items, APathIsTakenOnceUnlessReplaced) {
  expect_refused(add(1, "critters/0.jpg"), 409, "duplicates=replace");
  const HttpResult replaced = add(1, "critters/0.jpg", {{"duplicates", "replace"}});
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->status, 201);
  EXPECT_EQ(got("/v1/items").at("total"), kImages);
  expect_refused(client().get("/v1/items/0"), 404, "there is no item 0");
}

TEST_F(Items, WhatAnotherProgramAddsIsFoundAtOnce) {
  EXPECT_EQ(got("/v1/items").at("total"), kImages);
  const GridView grid = gallery_->snapshot()->grid(3);
  const GridSet copy(set_of({&grid, 1}));
  const std::vector<NewItem> items = {{.path = "elsewhere.jpg"}};
  const std::int64_t id = gallery_->add(items, copy.view())[0];
  EXPECT_EQ(posted("/v1/search", {{"query", 3}, {"top", 1}}).at("hits")[0].at("id"), id);
  EXPECT_EQ(got("/v1/items").at("total"), kImages + 1);
  gallery_->remove(std::vector<std::int64_t>{id, 3});
  EXPECT_EQ(got("/v1/items").at("total"), kImages - 1);
  EXPECT_EQ(got("/v1/items?label=0").at("total"), kOfClass - 1);
}

TEST_F(Items, ManyClientsLoseNothing) {
  constexpr int kThreads = 8;
  constexpr int kEach = 5;
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < kEach; ++k) {
        const std::string name = std::to_string(t) + "-" + std::to_string(k) + ".jpg";
        const HttpResult added = add(static_cast<std::size_t>(t), name);
        if (!added || added->status != 201) {
          ++failures;
          continue;
        }
        const std::string id = Json::parse(added->body).at("ids")[0].dump();
        const HttpResult search = post_json("/v1/search", {{"query", std::stoll(id)}});
        if (!search || search->status != 200) ++failures;
        if (k % 2 == 1 && client().remove("/v1/items/" + id)->status != 200) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(got("/v1/gallery").at("items").get<std::size_t>() >= kImages, true);
  EXPECT_EQ(gallery_->snapshot()->size(), kImages + kThreads * 3);
  EXPECT_TRUE(gallery_->snapshot()->verify().faults.empty());
  // Photos went through the network together.
  EXPECT_EQ(metric("diml_embedded_images_total"), kThreads * kEach);
  EXPECT_LT(metric("diml_embed_batches_total"), kThreads * kEach);
}

TEST_F(Items, AServerThatOnlyReadsRefusesChanges) {
  serve({.changes = ItemChanges::refused});
  expect_refused(add(1, "x.jpg"), 403, "--read-only");
  expect_refused(client().remove("/v1/items/1"), 403, "--read-only");
  EXPECT_EQ(got("/v1/gallery").at("changes"), false);
}

TEST_F(Items, WithoutANetworkThereAreNoPhotosButEverythingElse) {
  serve_without_network();
  expect_refused(add(1, "x.jpg"), 422, "no photos here");
  expect_refused(client().post("/v1/search", photo(1), "image/jpeg"), 422, "no photos here");
  EXPECT_EQ(got("/v1/gallery").at("photos"), false);
  EXPECT_EQ(posted("/v1/search", {{"query", 1}}).at("hits").size(), 10u);
}

}  // namespace
}  // namespace diml::test
