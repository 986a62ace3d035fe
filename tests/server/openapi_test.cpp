// The document says what the server does: every route in it is called, every answer is of its
// shape.

#include <algorithm>

#include "server/served_gallery.h"

namespace diml::test {
namespace {

class OpenApi : public ServedGallery {
 protected:
  OpenApi() : document_(got("/openapi.json")) {}

  const Json& resolved(const Json& schema) const {
    if (!schema.contains("$ref")) return schema;
    const std::string name = schema.at("$ref");
    return document_.at(Json::json_pointer(name.substr(1)));
  }

  // What is wrong with the value, or "".
  std::string fault(const Json& reference, const Json& value, const std::string& at) const {
    const Json& schema = resolved(reference);
    if (schema.value("nullable", false) && value.is_null()) return "";
    const std::string type = schema.value("type", "");
    if ((type == "object" && !value.is_object()) || (type == "array" && !value.is_array()) ||
        (type == "string" && !value.is_string()) || (type == "number" && !value.is_number()) ||
        (type == "integer" && !value.is_number_integer()) ||
        (type == "boolean" && !value.is_boolean())) {
      return at + " is no " + type + ": " + value.dump();
    }
    for (const Json& name : schema.value("required", Json::array())) {
      if (!value.contains(name.get<std::string>())) return at + " has no " + name.dump();
    }
    if (type == "array" && schema.contains("items")) {
      for (const Json& one : value) {
        const std::string found = fault(schema.at("items"), one, at + "[]");
        if (!found.empty()) return found;
      }
    }
    if (!schema.contains("properties")) return "";
    for (const auto& [name, one] : value.items()) {
      if (!schema.at("properties").contains(name)) {
        // Explanations carry more than is promised.
        if (at.find("/v1/explain") != std::string::npos) continue;
        return at + " has '" + name + "', which the document does not know";
      }
      const std::string found = fault(schema.at("properties").at(name), one, at + "." + name);
      if (!found.empty()) return found;
    }
    return "";
  }

  httplib::Result call(const std::string& method, std::string path, const Json& operation) const {
    const std::size_t id = path.find("{id}");
    const std::string item = method == "delete" ? "7" : "6";
    if (id != std::string::npos) path = path.substr(0, id) + item + path.substr(id + 4);
    if (method == "get") return client().Get(path);
    if (method == "delete") return client().Delete(path);
    const Json& content = operation.at("requestBody").at("content");
    if (content.contains("application/json")) {
      return post_json(path, content.at("application/json").at("example"));
    }
    return client().Post(path, {{"image", photo(0), "walk.jpg", "image/jpeg"}});
  }

  const Json document_;
};

TEST_F(OpenApi, IsADocumentOfVersionThree) {
  EXPECT_EQ(document_.at("openapi").get<std::string>().substr(0, 2), "3.");
  EXPECT_FALSE(document_.at("info").at("version").get<std::string>().empty());
  // References lead somewhere.
  const std::string text = document_.dump();
  for (std::size_t at = 0; (at = text.find("\"$ref\":\"#", at)) != std::string::npos; ++at) {
    const std::size_t begin = at + 9;
    const std::string pointer = text.substr(begin, text.find('"', begin) - begin);
    EXPECT_TRUE(document_.contains(Json::json_pointer(pointer))) << pointer;
  }
}

TEST_F(OpenApi, HasTheRoutesThatArePromised) {
  for (const char* path : {"/v1/embed", "/v1/search", "/v1/rerank", "/v1/compare", "/v1/explain"}) {
    EXPECT_TRUE(document_.at("paths").at(path).contains("post")) << path;
  }
  EXPECT_TRUE(document_.at("paths").at("/v1/items").contains("get"));
  EXPECT_TRUE(document_.at("paths").at("/v1/items").contains("post"));
  EXPECT_TRUE(document_.at("paths").at("/v1/items/{id}").contains("delete"));
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/openapi.json"}) {
    EXPECT_TRUE(document_.at("paths").contains(path)) << path;
  }
}

TEST_F(OpenApi, EveryRouteAnswersAsItSays) {
  std::size_t calls = 0;
  for (const auto& [path, methods] : document_.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      const httplib::Result answer = call(method, path, operation);
      ASSERT_TRUE(answer) << method << " " << path;
      const Json& responses = operation.at("responses");
      const std::string status = std::to_string(answer->status);
      EXPECT_EQ(status[0], '2') << method << " " << path << " " << answer->body;
      ASSERT_TRUE(responses.contains(status)) << method << " " << path << " " << answer->body;
      const Json& content = responses.at(status).at("content");
      const std::string type = answer->get_header_value("Content-Type");
      const std::string kind = type.substr(0, type.find(';'));
      ASSERT_TRUE(content.contains(kind)) << path << " " << type;
      if (kind == "application/json" && path != "/openapi.json") {
        EXPECT_EQ(
            fault(content.at(kind).at("schema"), Json::parse(answer->body), method + " " + path),
            "");
      }
      ++calls;
    }
  }
  EXPECT_GE(calls, 14u);
}

TEST_F(OpenApi, WhatIsRefusedIsRefusedAsItSays) {
  for (const auto& [path, methods] : document_.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      if (method != "post") continue;
      const httplib::Result answer = client().Post(path, "[", "application/json");
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, 400) << path;
      EXPECT_TRUE(operation.at("responses").contains("400"));
      const Json& schema =
          operation.at("responses").at("400").at("content").at("application/json").at("schema");
      EXPECT_EQ(fault(schema, Json::parse(answer->body), path), "");
    }
  }
}

TEST_F(OpenApi, PathsThatAreNotInItAreNotThere) {
  EXPECT_EQ(client().Get("/v1/nothing")->status, 404);
}

TEST_F(OpenApi, MetricsAreInTheFormOfPrometheus) {
  (void)posted("/v1/search", {{"query", 1}});
  (void)post_json("/v1/search", {{"query", 12345}});
  const httplib::Result answer = client().Get("/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; version=0.0.4");
  const std::string& text = answer->body;
  const auto has = [&](const std::string& line) {
    return text.find("\n" + line + "\n") != std::string::npos;
  };
  EXPECT_TRUE(has("diml_requests_total{method=\"POST\",route=\"/v1/search\",status=\"200\"} 1"))
      << text;
  EXPECT_TRUE(has("diml_requests_total{method=\"POST\",route=\"/v1/search\",status=\"404\"} 1"));
  EXPECT_TRUE(has("diml_request_seconds_count{method=\"POST\",route=\"/v1/search\"} 2"));
  EXPECT_TRUE(
      has("diml_request_seconds_bucket{method=\"POST\",route=\"/v1/search\",le=\"+Inf\"} 2"));
  EXPECT_TRUE(has("diml_items " + std::to_string(kImages)));
  EXPECT_GT(metric("process_resident_memory_bytes"), 1e6);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    const std::string line = text.substr(begin, end - begin);
    EXPECT_TRUE(line.starts_with("# HELP ") || line.starts_with("# TYPE ") ||
                (line.find(' ') != std::string::npos && std::isalpha(line[0])))
        << line;
    begin = end + 1;
  }
}

TEST_F(OpenApi, ThePageIsInTheProgram) {
  const httplib::Result page = client().Get("/");
  ASSERT_TRUE(page);
  EXPECT_NE(page->body.find("<!doctype html>"), std::string::npos);
  EXPECT_EQ(page->body.find("http://"), std::string::npos);  // nothing from elsewhere
  EXPECT_NE(page->get_header_value("Content-Security-Policy").find("default-src 'self'"),
            std::string::npos);
  EXPECT_EQ(page->get_header_value("Content-Security-Policy").find("unsafe"), std::string::npos);
  const httplib::Headers known = {{"If-None-Match", page->get_header_value("ETag")}};
  EXPECT_EQ(client().Get("/", known)->status, 304);
  // What it loads is there.
  for (const char* file :
       {"/app.js", "/app.css", "/match_view.js", "/match_view.css", "/icon.svg"}) {
    const httplib::Result part = client().Get(file);
    EXPECT_EQ(part->status, 200) << file;
    EXPECT_FALSE(part->body.empty()) << file;
  }
}

}  // namespace
}  // namespace diml::test
