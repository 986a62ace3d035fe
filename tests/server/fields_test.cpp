// Lists of fields: what is read, refused, written and described by them.

#include <limits>

#include <gtest/gtest.h>

#include "answers.h"
#include "requests.h"
#include "schemas.h"

namespace diml::server {
namespace {

struct Sample {
  explicit Sample(const ServerParams&) {}
  static constexpr const char* kName = "Sample";
  static constexpr const char* kExample = "{}";

  std::size_t count = 3;
  std::optional<std::string> label;
  double share = 0.5;
  Plan plan = Plan::entropic;
  std::string path;
  const Json* extra = nullptr;

  template <class Fields>
  void list(Fields& fields) {
    fields.whole("count", count, {1, 9}, "How many");
    fields.label("label", label, "Which");
    fields.number("share", share, {0.0, 1.0}, "How much");
    fields.choice("plan", plan,
                  {NamedValue<Plan>{"entropic", Plan::entropic}, {"exact", Plan::exact}},
                  "By what");
    fields.text("path", path, 5, "Where");
    fields.object("extra", extra, "What else");
  }
};

// The refusal's line, or "" and the request in `read`.
std::string fault(const Json& fields, Sample& read) {
  try {
    static const std::vector<FormPart> no_files;
    RequestReader reader(fields, no_files);
    read.list(reader);
    reader.finish();
  } catch (const Refusal& refusal) {
    return refusal.line();
  }
  return "";
}

TEST(Fields, AreReadFromNumbersAndFromText) {
  for (const Json& fields :
       {Json{{"count", 7}, {"label", 5}, {"share", 0.25}, {"plan", "exact"}, {"path", "a"}},
        Json{
            {"count", "7"}, {"label", "5"}, {"share", "0.25"}, {"plan", "exact"}, {"path", "a"}}}) {
    Sample read({});
    ASSERT_EQ(fault(fields, read), "");
    EXPECT_EQ(read.count, 7u);
    EXPECT_EQ(read.label, "5");
    EXPECT_EQ(read.share, 0.25);
    EXPECT_EQ(read.plan, Plan::exact);
    EXPECT_EQ(read.path, "a");
  }
}

TEST(Fields, ThatAreLeftOutOrNullKeepTheirDefaults) {
  for (const Json& fields : {Json::object(), Json{{"count", nullptr}, {"plan", nullptr}}}) {
    Sample read({});
    ASSERT_EQ(fault(fields, read), "");
    EXPECT_EQ(read.count, 3u);
    EXPECT_EQ(read.label, std::nullopt);
    EXPECT_EQ(read.plan, Plan::entropic);
  }
}

TEST(Fields, ThatCannotBeAreRefusedByName) {
  const std::vector<std::pair<Json, std::string>> bad = {
      {{{"count", 0}}, "'count' must be a whole number from 1 to 9"},
      {{{"count", 10}}, "'count' must be a whole number from 1 to 9"},
      {{{"count", 1.5}}, "'count' must be a whole number from 1 to 9"},
      {{{"count", "1x"}}, "'count' must be a whole number from 1 to 9"},
      {{{"label", 1.5}}, "'label' must be a word, a whole number or null"},
      {{{"label", std::string(2000, 'x')}}, "'label' must be a word of up to 1024 bytes"},
      {{{"share", "nan"}}, "'share' must be a number from 0 to 1"},
      {{{"plan", "magic"}}, "'plan' must be one of entropic, exact"},
      {{{"path", "longer"}}, "'path' must be text of up to 5 bytes"},
      {{{"extra", {1}}}, "'extra' must be a JSON object"},
      // An unknown name is reported before other errors.
      {{{"count", 0}, {"cuont", 1}},
       "there is no field 'cuont': count, label, share, plan, path, extra"},
  };
  for (const auto& [fields, line] : bad) {
    Sample read({});
    EXPECT_EQ(fault(fields, read), line);
  }
}

TEST(Fields, AreDescribedAsTheyAreRead) {
  const RequestInfo info = describe_request<Sample>({});
  const Document schema = object_schema(info.fields);
  EXPECT_EQ(schema.at("additionalProperties"), false);
  const Document& properties = schema.at("properties");
  EXPECT_EQ(properties.size(), info.fields.size());
  EXPECT_EQ(properties.at("count"), Document({{"type", "integer"},
                                              {"minimum", 1},
                                              {"maximum", 9},
                                              {"default", 3},
                                              {"description", "How many"}}));
  EXPECT_EQ(properties.at("plan").at("enum"), Document({"entropic", "exact"}));
  EXPECT_EQ(properties.at("plan").at("default"), "entropic");
  EXPECT_EQ(parameters_of(info).size(), 5u);  // an object does not fit into an address
}

TEST(Fields, OfFilesAndOfTextAreNotTakenForEachOther) {
  const std::vector<FormPart> files = {{"top", "top.txt", "5"}, {"image", "a.jpg", "x"}};
  const auto line = [&](const Json& fields, const std::vector<FormPart>& sent) -> std::string {
    try {
      SearchRequest request({});
      RequestReader reader(fields, sent);
      request.list(reader);
      reader.finish();
    } catch (const Refusal& refusal) {
      return refusal.line();
    }
    return "";
  };
  EXPECT_EQ(line(Json::object(), {files[1]}), "");
  EXPECT_EQ(line(Json::object(), files), "'top' is not a file");
  EXPECT_EQ(line({{"image", "5"}}, {}), "'image' must be a file");
  EXPECT_EQ(line({{"query", 5}}, {files[1]}), "send 'query' once: as a file, as an id or as cells");
  EXPECT_EQ(line(Json::object(), {files[1], files[1]}), "'image' is in the form twice");
}

TEST(Answers, AreWrittenWithAllTheirFieldsInOrder) {
  RankedAnswer ranked{1, 2, std::nullopt, 0.1F, 1.0F, std::numeric_limits<float>::infinity()};
  EXPECT_EQ(json_of(RerankedAnswer{{ranked}, 1e-300}),
            R"({"order":[{"rank":1,"first_rank":2,"id":null,"global":0.1,"structural":1,)"
            R"("total":null}],"seconds":1e-300})");
  EXPECT_EQ(json_of(ItemAnswer{-5, "a\"\n\xff", "YQ==", "7", {R"({"b":[1]})"}}),
            "{\"id\":-5,\"path\":\"a\\\"\\n\xEF\xBF\xBD\",\"path_bytes\":\"YQ==\",\"label\":\"7\","
            "\"metadata\":{\"b\":[1]}}");
}

TEST(Answers, AreDescribedAsTheyAreWritten) {
  AnswerSchemas schemas;
  EXPECT_EQ(schemas.of<RerankedAnswer>(), reference_to("Reranked"));
  const Document& ranked = schemas.all.at("Ranked");
  EXPECT_EQ(ranked.at("required"),
            Document({"rank", "first_rank", "id", "global", "structural", "total"}));
  EXPECT_EQ(ranked.at("properties").at("id").at("nullable"), true);
  EXPECT_EQ(ranked.at("additionalProperties"), false);
}

JsonTree parsed(const std::string& text) {
  return parse_object(text, {.deadline = Clock::time_point::max()});
}

TEST(Json, OfManyObjectsIsParsedInLinearTime) {
  // No time is measured: a quadratic parser would take minutes.
  std::string text = "{\"a\":[";
  for (int k = 0; k < 400'000; ++k) text += "{},";
  EXPECT_EQ(parsed(text + "{}]}").root().at("a").size(), 400'001u);
}

TEST(Json, DepthIsCountedOutsideOfStrings) {
  const std::string brackets(100, '[');
  EXPECT_EQ(parsed("{\"a\": \"\\\"" + brackets + "\"}").root().size(), 1u);
  EXPECT_THROW(parsed("{\"a\": " + brackets + "}"), Refusal);
}

}  // namespace
}  // namespace diml::server
