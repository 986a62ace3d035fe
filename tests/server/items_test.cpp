// Items of a gallery over HTTP: lists, thumbnails, additions, deletions.

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
  EXPECT_EQ(all["items"][5], Json({{"id", 5},
                                   {"path", "critters/5.jpg"},
                                   {"path_bytes", nullptr},
                                   {"label", "1"},
                                   {"metadata", {{"number", 5}}}}));
  const Json page = got("/v1/items?offset=20&limit=10");
  ASSERT_EQ(page.at("items").size(), 4u);
  EXPECT_EQ(page["items"][0].at("id"), 20);
  const Json third = got("/v1/items?label=3");
  EXPECT_EQ(third.at("total"), kOfClass);
  for (const Json& item : third.at("items")) EXPECT_EQ(item.at("label"), "3");
  EXPECT_EQ(got("/v1/items?label=77").at("total"), 0);
  EXPECT_EQ(got("/v1/items?offset=999").at("items").size(), 0u);
  EXPECT_EQ(got("/v1/items/7").at("path"), "critters/7.jpg");
}

TEST_F(Items, LabelsAreWordsAndNullWithoutOne) {
  const auto label_of = [&](const HttpResult& answer) {
    EXPECT_EQ(answer->status, 201) << answer->body;
    const std::int64_t id = Json::parse(answer->body).at("ids")[0];
    return got("/v1/items/" + std::to_string(id)).at("label");
  };
  EXPECT_EQ(label_of(add(0, "a.jpg", {{"label", "pug"}})), "pug");
  EXPECT_EQ(label_of(add(1, "b.jpg", {{"label", "-1"}})), nullptr);
  EXPECT_EQ(label_of(add(2, "c.jpg")), nullptr);
  EXPECT_EQ(got("/v1/items?label=pug").at("total"), 1);
  EXPECT_EQ(got("/v1/items?label=").at("total"), 2);
  const Json labels = got("/v1/gallery").at("labels");
  EXPECT_EQ(labels.front(), Json({{"label", nullptr}, {"count", 2}}));
  EXPECT_EQ(labels.back(), Json({{"label", "pug"}, {"count", 1}}));
  EXPECT_EQ(labels[1], Json({{"label", "0"}, {"count", kOfClass}}));
}

TEST_F(Items, ALabelAndMetadataAreChangedAndTheGridStays) {
  const auto patch = [&](const std::string& body) {
    return client().send("PATCH", "/v1/items/5", {{"Content-Type", "application/json"}}, body);
  };
  const Json search = {{"query", {{"id", 6}}}, {"top", 100}};
  const auto hit_of_5 = [&] {
    const Json found = posted("/v1/search", search);  // outlives the loop over its hits
    for (const Json& hit : found.at("hits")) {
      if (hit.at("id") == 5) return hit;
    }
    return Json();
  };
  const Json before = hit_of_5();
  const std::string of_class = "/v1/items?label=" + before.at("label").get<std::string>();
  EXPECT_EQ(got(of_class).at("total"), kOfClass);
  const HttpResult changed = patch(R"({"label": "pug", "metadata": {"price": 20}})");
  ASSERT_EQ(changed->status, 200) << changed->body;
  EXPECT_EQ(Json::parse(changed->body), got("/v1/items/5"));
  const Json after = hit_of_5();
  EXPECT_EQ(after.at("label"), "pug");
  EXPECT_EQ(after.at("metadata"), Json({{"price", 20}}));
  EXPECT_EQ(after.at("total"), before.at("total"));
  EXPECT_EQ(got(of_class).at("total"), kOfClass - 1);
  EXPECT_EQ(got("/v1/items?label=pug").at("items")[0].at("id"), 5);
  EXPECT_EQ(Json::parse(patch(R"({"label": 7})")->body).at("label"), "7");
  const Json none = Json::parse(patch(R"({"label": null})")->body);
  EXPECT_EQ(none.at("label"), nullptr);
  EXPECT_EQ(none.at("metadata"), Json({{"price", 20}}));  // what is absent stays
  expect_refused(patch("{}"), 400, "nothing to change");
  expect_refused(patch(R"({"label": [1]})"), 400, "'label' must be a word");
  expect_refused(patch(R"({"path": "x"})"), 400, "there is no field 'path'");
  expect_refused(client().send("PATCH", "/v1/items/99", {{"Content-Type", "application/json"}},
                               R"({"label": "x"})"),
                 404, "99");
}

TEST_F(Items, AreFilteredByConditionsAndByPartOfTheirName) {
  EXPECT_EQ(got("/v1/items?where=number%3C%3D3").at("total"), 4);
  const std::string two = "/v1/items?where=%5B%22number%3E%3D6%22%2C%22label%3D1%22%5D";
  const Json both = got(two);
  EXPECT_EQ(both.at("total"), 2);
  ASSERT_EQ(both.at("items").size(), 2u);
  EXPECT_EQ(both["items"][0].at("id"), 6);
  EXPECT_EQ(got(two + "&offset=1&limit=1").at("items")[0].at("id"), 7);
  EXPECT_EQ(got(two + "&offset=9").at("items").size(), 0u);
  EXPECT_EQ(got("/v1/items?path=S%2F1").at("total"), 11);  // 1 and 10 to 19
  EXPECT_EQ(got("/v1/items?path=S%2F1&label=3").at("total"), 4);
  EXPECT_EQ(got("/v1/items?path=S%2F1&where=number%3E12&label=3").at("total"), 3);
  EXPECT_EQ(got("/v1/items?where=price%20exists").at("total"), 0);
  EXPECT_EQ(got("/v1/items?label=&where=number%20exists").at("total"), 0);
  expect_refused(client().get("/v1/items?where=nonsense"), 400,
                 "'where': the condition 'nonsense' is not understood");
  expect_refused(client().get("/v1/items?where=%5B1%5D"), 400, "a list of conditions");
  expect_refused(client().get("/v1/items?where=%5B"), 400, "a list of conditions");
}

TEST_F(Items, AFilterSeesWhatIsChanged) {
  const auto patch = [&](const std::string& body) {
    const HttpResult answer =
        client().send("PATCH", "/v1/items/5", {{"Content-Type", "application/json"}}, body);
    EXPECT_EQ(answer->status, 200) << answer->body;
  };
  const Json search = {{"query", 6}, {"where", {"label=pug", "price<=20"}}};
  const std::string list = "/v1/items?where=label%3Dpug";
  EXPECT_EQ(got(list).at("total"), 0);
  EXPECT_EQ(posted("/v1/search", search).at("hits").size(), 0u);
  patch(R"({"label": "pug", "metadata": {"price": 20}})");
  EXPECT_EQ(got(list).at("items")[0].at("id"), 5);
  const Json found = posted("/v1/search", search);
  ASSERT_EQ(found.at("hits").size(), 1u);
  EXPECT_EQ(found["hits"][0].at("id"), 5);
  EXPECT_EQ(found.at("items"), 1);
  patch(R"({"metadata": {"price": 21}})");
  EXPECT_EQ(posted("/v1/search", search).at("hits").size(), 0u);
  EXPECT_EQ(got(list).at("total"), 1);
  patch(R"({"label": null})");
  EXPECT_EQ(got(list).at("total"), 0);
  EXPECT_EQ(got("/v1/items?label=").at("total"), 1);
  EXPECT_EQ(got("/v1/items?label=-1").at("total"), 1);
}

TEST_F(Items, ASearchIsFilteredInEveryFormOfRequest) {
  const Json all = posted("/v1/search", {{"query", 6}, {"top", 24}}).at("hits");
  std::vector<int> wanted;
  for (const Json& hit : all) {
    if (hit.at("metadata").at("number") < 9) wanted.push_back(hit.at("id"));
  }
  const auto ids_of = [](const Json& answer) {
    std::vector<int> ids;
    for (const Json& hit : answer.at("hits")) ids.push_back(hit.at("id"));
    return ids;
  };
  EXPECT_EQ(ids_of(posted("/v1/search", {{"query", 6}, {"where", {"number<9"}}})), wanted);
  EXPECT_EQ(ids_of(posted("/v1/search", {{"query", 6}, {"where", "number<9"}})), wanted);
  EXPECT_EQ(ids_of(posted("/v1/search?where=number%3C9", {{"query", 6}})), wanted);
  const HttpResult form =
      client().post("/v1/search", {{"query", "6"}, {"where", "[\"number<9\"]"}});
  ASSERT_EQ(form->status, 200) << form->body;
  EXPECT_EQ(ids_of(Json::parse(form->body)), wanted);
  expect_refused(post_json("/v1/search", {{"query", 6}, {"where", {"=3"}}}), 400, "names no field");
  expect_refused(post_json("/v1/search", {{"query", 6}, {"where", 3}}), 400,
                 "a list of conditions");
  const std::vector<std::string> many(33, "number<9");
  expect_refused(post_json("/v1/search", {{"query", 6}, {"where", many}}), 400, "up to 32");
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
  EXPECT_EQ(item.at("label"), "42");
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
  expect_refused(bad, 415, "is not a JPEG, PNG");
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
  // Photos were embedded in common batches.
  EXPECT_EQ(metric("diml_embedded_images_total"), kThreads * kEach);
  EXPECT_LT(metric("diml_embed_batches_total"), kThreads * kEach);
}

TEST_F(Items, AServerThatOnlyReadsRefusesChanges) {
  serve({.changes = ItemChanges::refused});
  expect_refused(add(1, "x.jpg"), 403, "read-only");
  expect_refused(client().remove("/v1/items/1"), 403, "read-only");
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
