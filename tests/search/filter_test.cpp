// The grammar of filters, and what each condition admits.

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "diml/searcher.h"

namespace diml::test {
namespace {

Filter filter_of(const std::vector<std::string>& conditions) { return Filter(conditions); }

Item item_with(const std::string& metadata) {
  return {.id = 7, .path = "Photos/Bird_17.JPG", .label = "12", .metadata = metadata};
}

bool admits(const std::string& condition, const std::string& metadata = "{}") {
  return filter_of({condition}).admits(item_with(metadata));
}

TEST(Filter, WithoutConditionsAdmitsEverything) {
  EXPECT_TRUE(Filter().empty());
  EXPECT_TRUE(Filter().admits(item_with("{}")));
  EXPECT_FALSE(filter_of({"label=1"}).empty());
}

TEST(Filter, ComparesLabelsAndPaths) {
  EXPECT_TRUE(admits("label=12"));
  EXPECT_TRUE(admits(" label = 12 "));
  EXPECT_FALSE(admits("label=1"));
  EXPECT_TRUE(admits("label!=1"));
  EXPECT_FALSE(admits("label!=12"));
  EXPECT_TRUE(admits("label in 3, 12"));
  EXPECT_FALSE(admits("label in 3,4"));
  EXPECT_TRUE(admits("label<=12"));
  EXPECT_TRUE(admits("label>3"));  // as numbers: as texts "12" comes before "3"
  EXPECT_TRUE(admits("label exists"));
  EXPECT_FALSE(admits("label missing"));
  EXPECT_TRUE(admits("path=Photos/Bird_17.JPG"));
  EXPECT_FALSE(admits("path=photos/bird_17.jpg"));
  EXPECT_TRUE(admits("path exists"));
}

TEST(Filter, AnItemWithoutALabelHasItMissing) {
  const Item item{.id = 1, .path = "a", .label = "", .metadata = "{}"};
  const auto admitted = [&](const char* text) { return filter_of({text}).admits(item); };
  EXPECT_TRUE(admitted("label missing"));
  EXPECT_FALSE(admitted("label exists"));
  EXPECT_FALSE(admitted("label=-1"));
  EXPECT_TRUE(admitted("label!=3"));
  EXPECT_FALSE(admitted("label<3"));
  EXPECT_TRUE(admitted("label in [\"\"]"));
}

TEST(Filter, ComparesNumbersAsNumbers) {
  const std::string metadata =
      R"({"price": 20, "weight": 0.1, "text": "9", "big": 9007199254740993})";
  EXPECT_TRUE(admits("price=20", metadata));
  EXPECT_TRUE(admits("price=20.0", metadata));
  EXPECT_TRUE(admits("price in 1,20", metadata));
  EXPECT_TRUE(admits("price in [1, 20]", metadata));
  EXPECT_FALSE(admits("price=pug", metadata));
  EXPECT_TRUE(admits("price<=20", metadata));
  EXPECT_FALSE(admits("price<20", metadata));
  EXPECT_TRUE(admits("price>=20", metadata));
  EXPECT_FALSE(admits("price>20", metadata));
  EXPECT_TRUE(admits("price<100", metadata));
  EXPECT_TRUE(admits("weight=0.1", metadata));
  EXPECT_TRUE(admits("weight<=0.1", metadata));
  EXPECT_TRUE(admits("text<10", metadata));
  EXPECT_TRUE(admits("big=9007199254740993", metadata));
  EXPECT_FALSE(admits("big=9007199254740992", metadata));
  EXPECT_FALSE(admits("big<=9007199254740992", metadata));
}

TEST(Filter, ComparesTextsLetterByLetter) {
  const std::string metadata =
      R"({"seen": "2024-05-31", "colour": "dark red", "price": "unknown"})";
  EXPECT_TRUE(admits("seen>=2024-01-01", metadata));
  EXPECT_FALSE(admits("seen>=2024-06-01", metadata));
  EXPECT_TRUE(admits("colour=dark red", metadata));
  EXPECT_TRUE(admits("colour in blue,dark red", metadata));
  EXPECT_FALSE(admits("colour=red", metadata));
  // A text that is no number is neither below nor above one.
  EXPECT_FALSE(admits("price<=20", metadata));
  EXPECT_FALSE(admits("price>=20", metadata));
}

TEST(Filter, KnowsTrueFalseNullAndLists) {
  const std::string metadata =
      R"({"sold": false, "until": null, "tags": ["red", "old", 7], "box": {"w": 3}, "none": []})";
  EXPECT_TRUE(admits("sold=false", metadata));
  EXPECT_FALSE(admits("sold=true", metadata));
  EXPECT_TRUE(admits("until missing", metadata));
  EXPECT_FALSE(admits("until exists", metadata));
  EXPECT_TRUE(admits("tags=old", metadata));
  EXPECT_FALSE(admits("tags!=old", metadata));
  EXPECT_TRUE(admits("tags!=new", metadata));
  EXPECT_TRUE(admits("tags>6", metadata));
  EXPECT_TRUE(admits("tags exists", metadata));
  EXPECT_TRUE(admits("box exists", metadata));
  EXPECT_FALSE(admits("box=3", metadata));
  EXPECT_TRUE(admits("none exists", metadata));
  EXPECT_FALSE(admits("none=1", metadata));
}

TEST(Filter, DotsGoIntoNestedObjects) {
  const std::string metadata =
      R"({"size": {"box": {"w": 3}}, "label": "word", "a.b": {"c": 1}, "path": "p", "frame size": 4})";
  EXPECT_TRUE(admits("size.box.w=3", metadata));
  EXPECT_TRUE(admits("size.box.h missing", metadata));
  EXPECT_TRUE(admits("size.box.w.x missing", metadata));
  EXPECT_TRUE(admits("metadata.label=word", metadata));
  EXPECT_FALSE(admits("label=word", metadata));
  EXPECT_TRUE(admits("metadata.path=p", metadata));
  EXPECT_TRUE(admits("metadata.size.box.w=3", metadata));
  EXPECT_TRUE(admits("a.b.c=1", metadata));
  EXPECT_TRUE(admits("frame size=4", metadata));
  EXPECT_TRUE(admits("frame size exists", metadata));
}

TEST(Filter, AnItemWithoutTheFieldSatisfiesUnequalAndMissingAlone) {
  EXPECT_TRUE(admits("price!=3"));
  EXPECT_TRUE(admits("price missing"));
  for (const char* other : {"price=3", "price<3", "price>=3", "price in 3,4", "price exists"}) {
    EXPECT_FALSE(admits(other)) << other;
  }
}

TEST(Filter, AllConditionsMustHold) {
  const std::string metadata = R"({"price": 20})";
  EXPECT_TRUE(filter_of({"label=12", "price<=20"}).admits(item_with(metadata)));
  EXPECT_FALSE(filter_of({"label=12", "price<20"}).admits(item_with(metadata)));
  EXPECT_FALSE(filter_of({"label=13", "price<=20"}).admits(item_with(metadata)));
  EXPECT_EQ(filter_of({"label=12", "price<=20"}).text(), "label=12 and price<=20");
}

TEST(Filter, ValuesMayHoldSignsAndCommas) {
  const std::string metadata = R"({"note": "a=b in c exists", "name": "a,b", "sum": "=x"})";
  EXPECT_TRUE(admits("note=a=b in c exists", metadata));
  EXPECT_TRUE(admits(R"(name in ["a,b","c"])", metadata));
  EXPECT_TRUE(admits(R"(name in["a,b"])", metadata));
  EXPECT_FALSE(admits("name in a,b", metadata));
  EXPECT_TRUE(admits("name=a,b", metadata));
  EXPECT_TRUE(admits(R"(sum in ["=x"])", metadata));
}

TEST(Filter, ATextMayStandInQuotes) {
  const std::string metadata = R"({"name": "a,b", "said": "\"no\"", "size": "5\""})";
  EXPECT_TRUE(admits(R"(name="a,b")", metadata));
  EXPECT_FALSE(admits(R"(name!="a,b")", metadata));
  EXPECT_TRUE(admits(R"(name in "a,b",c)", metadata));
  EXPECT_TRUE(admits(R"(name in c , "a,b" )", metadata));
  EXPECT_TRUE(admits(R"(label="12")"));
  EXPECT_TRUE(admits(R"(said="\"no\"")", metadata));
  EXPECT_TRUE(admits(R"(size=5")", metadata));  // a quote within is a letter
}

TEST(Filter, FindsAPartOfAPathInUpperOrLowerCase) {
  const Item item = item_with("{}");
  EXPECT_TRUE(Filter().with_path_part("bird").admits(item));
  EXPECT_TRUE(Filter().with_path_part("PHOTOS/b").admits(item));
  EXPECT_FALSE(Filter().with_path_part("cat").admits(item));
  EXPECT_FALSE(filter_of({"label=3"}).with_path_part("bird").admits(item));
}

TEST(Filter, DifferentFiltersHaveDifferentKeys) {
  EXPECT_NE(filter_of({"a=b and c=d"}).key(), filter_of({"a=b", "c=d"}).key());
  EXPECT_NE(filter_of({"path contains 'a=b'"}).key(), Filter().with_path_part("a=b").key());
  EXPECT_EQ(filter_of({"a=b", "c=d"}).key(), filter_of({"a=b", "c=d"}).key());
}

TEST(Filter, AWrongOneGetsOneLineWithAnExample) {
  const auto refused = [](const char* text, const char* why) {
    expect_refused([&] { (void)filter_of({text}); }, why);
  };
  refused("", "is not understood: write FIELD=VALUE, such as label=pug");
  refused("pug", "the condition 'pug' is not understood: write FIELD=VALUE, such as label=pug");
  refused("label pug", "'price exists' or 'price missing'");
  refused("=pug", "names no field: write label=pug");
  refused("metadata.=pug", "names no key: write metadata.label=pug");
  refused("label=", "has no value: write label=VALUE, or 'label missing' for items without it");
  refused("label==pug", "has two signs in a row: one of = != < <= > >=");
  refused("price=<20", "has two signs in a row");
  refused("label in", "lists an empty value: write colour in red,blue");
  refused("label in a,,b", "lists an empty value");
  refused("label in [\"a\"", "has no valid list: write colour in red,blue or colour in");
  refused("label in []", "has no valid list");
  refused("label in [{}]", "lists something that is neither text nor a number");
  refused("label=\"pug", "has a quote that does not end: write label=\"shiba, inu\"");
  refused("label in a,\"pug", "has a quote that does not end");
  refused("label=\"shiba\", inu", "has something after its quotes");
  refused("label=\"\\x\"", "has no valid text in its quotes");
  refused("exists", "is not understood");
}

TEST(Filter, DamagedMetadataIsNamed) {
  expect_refused([] { (void)admits("price=3", "{\"price\""); },
                 "item 7 has metadata that is not JSON");
  EXPECT_TRUE(admits("label=12", "{\"price\""));  // nobody reads it
}

}  // namespace
}  // namespace diml::test
