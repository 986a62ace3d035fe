// Names of files are bytes: what clients get of names that are no UTF-8 or look like markup.

#include "base/base64.h"
#include "base/shown_text.h"
#include "server/served_gallery.h"

namespace diml::test {
namespace {

const std::string kLatin = "photos/caf\xe9.jpg";

class ServedNames : public ServedGallery {
 protected:
  std::int64_t added(const std::vector<FormItem>& form) const {
    const HttpResult answer = client().post("/v1/items", form);
    EXPECT_EQ(answer->status, 201) << answer->body;
    return Json::parse(answer->body).at("ids").at(0).get<std::int64_t>();
  }
  std::string path_of(std::int64_t id) const { return gallery_->snapshot()->item(id).path; }
  static std::string in_base64(const std::string& name) {
    return base64({name.begin(), name.end()});
  }
};

TEST_F(ServedNames, AreWholeInEveryAnswer) {
  const std::int64_t id =
      added({{"image", photo(1), kLatin, "image/jpeg"}});  // the name of its file
  EXPECT_EQ(path_of(id), kLatin);
  const Json item = got("/v1/items/" + std::to_string(id));
  EXPECT_EQ(item.at("path"), "photos/caf\xef\xbf\xbd.jpg");
  EXPECT_EQ(bytes_of_base64(item.at("path_bytes").get<std::string>()), kLatin);
  const Json hit = posted("/v1/search", {{"query", 1}, {"top", 1}}).at("hits").at(0);
  EXPECT_EQ(hit.at("path_bytes"), in_base64(kLatin));
  // The bytes of an address find it.
  const Json found = got("/v1/items?path=caf%E9").at("items");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].at("path_bytes"), in_base64(kLatin));
  // All others need none.
  EXPECT_TRUE(got("/v1/items/0").at("path_bytes").is_null());
}

TEST_F(ServedNames, CanBeGivenAsBytes) {
  const std::string name = "a\nb\x1b[2J\xff.jpg";
  const std::int64_t id =
      added({{"image", photo(2), "x.jpg", "image/jpeg"}, {"path_bytes", in_base64(name), "", ""}});
  EXPECT_EQ(path_of(id), name);
  const auto sent = [&](const std::vector<FormItem>& more) {
    std::vector<FormItem> form = {{"image", photo(3), "x.jpg", "image/jpeg"}};
    form.insert(form.end(), more.begin(), more.end());
    return client().post("/v1/items", form);
  };
  expect_refused(sent({{"path_bytes", "?", "", ""}}), 400, "'path_bytes' must be base64");
  expect_refused(sent({{"path_bytes", "YQ==", "", ""}, {"path", "a", "", ""}}), 400,
                 "'path' or 'path_bytes'");
  // An answer about it has one line that no terminal minds.
  const HttpResult twice = sent({{"path_bytes", in_base64(name), "", ""}});
  expect_refused(twice, 409, "is in the gallery already");
  EXPECT_TRUE(is_utf8(twice->body));
  EXPECT_EQ(twice->body.find('\x1b'), std::string::npos);
}

TEST_F(ServedNames, ThatLookLikeMarkupStayText) {
  const std::string name = "<script>alert(1)</script>\"'.jpg";
  const std::int64_t id =
      added({{"image", photo(2), "x.jpg", "image/jpeg"}, {"path", name, "", ""}});
  const HttpResult answer = client().get("/v1/items/" + std::to_string(id));
  EXPECT_EQ(Json::parse(answer->body).at("path"), name);
  EXPECT_EQ(answer->header("Content-Type"), "application/json");
  EXPECT_EQ(answer->header("X-Content-Type-Options"), "nosniff");
  // The page makes text of names, never markup.
  for (const char* script : {"/app.js", "/elements.js", "/search_view.js", "/gallery_view.js",
                             "/item_panel.js", "/match_view.js", "/choose.js"}) {
    const HttpResult text = client().get(script);
    ASSERT_EQ(text->status, 200) << script;
    for (const char* danger : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"}) {
      EXPECT_EQ(text->body.find(danger), std::string::npos) << script;
    }
  }
}

}  // namespace
}  // namespace diml::test
