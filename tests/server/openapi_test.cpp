// The OpenAPI document agrees with the server: the test calls every route and checks every answer
// against its schema.

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

  // The error in the value, or "".
  std::string fault(const Json& reference, const Json& value, const std::string& at) const {
    const Json& schema = resolved(reference);
    if (schema.value("nullable", false) && value.is_null()) return "";
    if (schema.contains("allOf")) return fault(schema.at("allOf").at(0), value, at);
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
    if (type == "array") {
      for (const Json& one : value) {
        const std::string found = fault(schema.at("items"), one, at + "[]");
        if (!found.empty()) return found;
      }
    }
    // Only metadata may hold anything.
    if (type != "object" || !schema.contains("properties")) return "";
    for (const auto& [name, one] : value.items()) {
      if (!schema.at("properties").contains(name)) {
        return at + " has '" + name + "', which the document does not know";
      }
      const std::string found = fault(schema.at("properties").at(name), one, at + "." + name);
      if (!found.empty()) return found;
    }
    return "";
  }

  // A path that can be called: with an item, and with a name for what is added.
  std::string called(const std::string& method, std::string path, const std::string& query) const {
    const std::size_t id = path.find("{id}");
    const std::string item = method == "delete" ? std::to_string(next_deleted_++) : "6";
    if (id != std::string::npos) path = path.substr(0, id) + item + path.substr(id + 4);
    return query.empty() ? path : path + "?" + query;
  }

  // All forms of the call that the document describes. query: the query string.
  std::vector<HttpResult> calls(const std::string& method, const std::string& path,
                                const Json& operation, const std::string& query = "") const {
    if (method == "get") return {client().get(called(method, path, query))};
    if (method == "delete") return {client().remove(called(method, path, query))};
    std::vector<HttpResult> answers;
    for (const auto& [type, content] : operation.at("requestBody").at("content").items()) {
      const std::string place = called(method, path, query);
      if (method == "patch") {
        answers.push_back(
            client().send("PATCH", place, {{"Content-Type", type}}, content.at("example").dump()));
      } else if (type == "application/json") {
        answers.push_back(client().post(place, content.at("example").dump(), type));
      } else if (type == "multipart/form-data") {
        answers.push_back(client().post(place, form_of(content.at("schema"))));
      } else {
        EXPECT_TRUE(type.starts_with("image/")) << type;
        // The server detects the type from the bytes. Without a form an image has no name.
        const bool is_named = query.find("path=") != std::string::npos;
        const std::string name = has_parameter(operation, "path") && !is_named
                                     ? "path=" + std::to_string(added_++) + ".jpg"
                                     : "";
        const std::string both = query + (query.empty() || name.empty() ? "" : "&") + name;
        answers.push_back(client().post(called(method, path, both), photo(0), type));
      }
    }
    return answers;
  }

  static bool has_parameter(const Json& operation, const std::string& name) {
    for (const Json& one : operation.value("parameters", Json::array())) {
      if (one.at("name") == name) return true;
    }
    return false;
  }

  // Files wherever they are accepted, and all required fields.
  std::vector<FormItem> form_of(const Json& schema) const {
    std::vector<FormItem> form;
    for (const auto& [name, reference] : schema.at("properties").items()) {
      const Json& property = resolved(reference);
      if (property.dump().find("\"binary\"") != std::string::npos) {
        form.push_back({name, photo(0), std::to_string(added_++) + ".jpg", "image/jpeg"});
      } else if (name == "candidates") {
        form.push_back({name, "[1, {\"id\": 2}, 3]"});
      }
    }
    return form;
  }

  const Json document_;
  mutable int added_ = 0;
  mutable int next_deleted_ = 7;
};

TEST_F(OpenApi, IsADocumentOfVersionThree) {
  EXPECT_EQ(document_.at("openapi").get<std::string>().substr(0, 2), "3.");
  EXPECT_FALSE(document_.at("info").at("version").get<std::string>().empty());
  // All references resolve.
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

TEST_F(OpenApi, EveryRouteAnswersAsItSaysInEveryForm) {
  std::size_t count = 0;
  for (const auto& [path, methods] : document_.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      const Json& responses = operation.at("responses");
      for (const HttpResult& answer : calls(method, path, operation)) {
        SCOPED_TRACE(method + " " + path);
        ASSERT_TRUE(answer);
        const std::string status = std::to_string(answer->status);
        EXPECT_EQ(status[0], '2') << answer->body;
        ASSERT_TRUE(responses.contains(status)) << answer->body;
        const Json& content = responses.at(status).at("content");
        const std::string type = answer->header("Content-Type");
        const std::string kind = type.substr(0, type.find(';'));
        ASSERT_TRUE(content.contains(kind)) << type;
        if (kind == "application/json" && path != "/openapi.json") {
          EXPECT_EQ(fault(content.at(kind).at("schema"), Json::parse(answer->body), path), "");
        }
        ++count;
      }
    }
  }
  EXPECT_GE(count, 25u);
}

TEST_F(OpenApi, SchemasNameAllThatThereIs) {
  for (const auto& [name, schema] : document_.at("components").at("schemas").items()) {
    if (name == "Subject") continue;
    EXPECT_EQ(schema.at("additionalProperties"), false) << name;
    for (const Json& required : schema.value("required", Json::array())) {
      EXPECT_TRUE(schema.at("properties").contains(required.get<std::string>())) << name;
    }
    // Every schema is used.
    EXPECT_NE(document_.dump().find("\"#/components/schemas/" + name + "\""), std::string::npos)
        << name;
  }
}

TEST_F(OpenApi, ParametersHaveTheRangesWordsAndDefaultsThatItSays) {
  std::size_t tried = 0;
  const bool has_exact = got("/v1/gallery").at("exact");
  const auto expect_status = [&](const std::string& method, const std::string& path,
                                 const Json& operation, const std::string& query, int status) {
    SCOPED_TRACE(method + " " + path + "?" + query);
    for (const HttpResult& answer : calls(method, path, operation, query)) {
      ASSERT_TRUE(answer);
      // A form with several images cannot have one path.
      EXPECT_EQ(answer->status / 100, status / 100) << answer->body;
      ++tried;
    }
  };
  for (const auto& [path, methods] : document_.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      expect_status(method, path, operation, "no_such_name=1", 400);
      for (const Json& parameter : operation.value("parameters", Json::array())) {
        if (parameter.at("in") == "path") continue;
        const Json& schema = parameter.contains("content")
                                 ? parameter.at("content").at("application/json").at("schema")
                                 : parameter.at("schema");
        const std::string name = parameter.at("name");
        const auto text = [](const Json& value) {
          return value.is_string() ? value.get<std::string>() : value.dump();
        };
        // "top" is already in the example.
        const bool is_given = operation.dump().find("\"" + name + "\":5") != std::string::npos;
        for (const char* key : {"default", "minimum", "maximum"}) {
          // One weight may be 0, not both.
          if (schema.contains(key) && !is_given) {
            expect_status(method, path, operation, name + "=" + text(schema.at(key)), 200);
          }
        }
        for (const Json& word : schema.value("enum", Json::array())) {
          if (word == "exact" && !has_exact) continue;
          expect_status(method, path, operation, name + "=" + text(word), 200);
        }
        if (schema.contains("minimum")) {
          const double below = schema.at("minimum").get<double>() - 1;
          const double above = schema.at("maximum").get<double>() + 1;
          const bool whole = schema.at("type") == "integer";
          for (const double value : {below, above}) {
            const std::string number =
                whole ? std::to_string(static_cast<std::int64_t>(value)) : Json(value).dump();
            expect_status(method, path, operation, name + "=" + number, 400);
          }
        }
        if (schema.at("type") != "string" || schema.contains("enum")) {
          expect_status(method, path, operation, name + "=nonsense", 400);
        }
      }
    }
  }
  EXPECT_GE(tried, 100u);
}

TEST_F(OpenApi, WhatIsRequiredIsRequired) {
  for (const auto& [path, methods] : document_.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      if (method != "post") continue;
      const Json& content = operation.at("requestBody").at("content");
      if (!content.contains("application/json")) continue;
      const Json example = content.at("application/json").at("example");
      EXPECT_EQ(fault(content.at("application/json").at("schema"), example, path), "");
      for (const Json& name :
           resolved(content.at("application/json").at("schema")).at("required")) {
        Json without = example;
        without.erase(name.get<std::string>());
        expect_refused(post_json(path, without), 400,
                       "'" + name.get<std::string>() + "' is missing");
      }
      Json more = example;
      more["no_such_name"] = 1;
      expect_refused(post_json(path, more), 400, "there is no field 'no_such_name'");
    }
  }
  expect_refused(post_json("/v1/search", {{"query", {{"id", 1}, {"more", 2}}}}), 400,
                 "there is no field 'query.more': id");
  expect_refused(post_json("/v1/search", {{"query", {{"cells", Json::array()}, {"more", 2}}}}), 400,
                 "there is no field 'query.more': cells, global");
}

TEST_F(OpenApi, WhatIsRefusedIsRefusedAsItSays) {
  for (const auto& [path, methods] : document_.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      if (method != "post") continue;
      const HttpResult answer = client().post(path, "[", "application/json");
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
  EXPECT_EQ(client().get("/v1/nothing")->status, 404);
}

TEST_F(OpenApi, MetricsAreInTheFormOfPrometheus) {
  (void)posted("/v1/search", {{"query", 1}});
  (void)post_json("/v1/search", {{"query", 12345}});
  const HttpResult answer = client().get("/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header("Content-Type"), "text/plain; version=0.0.4");
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
  const HttpResult page = client().get("/");
  ASSERT_TRUE(page);
  EXPECT_NE(page->body.find("<!doctype html>"), std::string::npos);
  EXPECT_EQ(page->body.find("http://"), std::string::npos);  // nothing from other servers
  EXPECT_NE(page->header("Content-Security-Policy").find("default-src 'self'"), std::string::npos);
  EXPECT_EQ(page->header("Content-Security-Policy").find("unsafe"), std::string::npos);
  const HttpHeaders known = {{"If-None-Match", page->header("ETag")}};
  EXPECT_EQ(client().get("/", known)->status, 304);
  // The files that it loads exist.
  for (const char* file :
       {"/app.js", "/app.css", "/match_view.js", "/match_view.css", "/icon.svg"}) {
    const HttpResult part = client().get(file);
    EXPECT_EQ(part->status, 200) << file;
    EXPECT_FALSE(part->body.empty()) << file;
  }
}

}  // namespace
}  // namespace diml::test
