#include "base/json_limits.h"

#include <gtest/gtest.h>

namespace diml {
namespace {

constexpr JsonLimits kFew{.depth = 2, .names_of_object = 2, .names = 3, .string = 4, .values = 6};

std::string excess(const std::string& text) { return excess_of(text, kFew).value_or(""); }

TEST(JsonLimits, EachIsCounted) {
  EXPECT_EQ(excess(R"({"a": {"b": 1}, "c": 2})"), "");
  EXPECT_EQ(excess(R"({"a": {"b": []}})"), "is nested deeper than 2 levels");
  EXPECT_EQ(excess(R"({"a": 1, "b": 1, "c": 1})"), "has an object of more than 2 names");
  EXPECT_EQ(excess(R"([{"a": 1, "b": 1}, {"a": 1, "b": 1}])"), "has more than 3 names");
  EXPECT_EQ(excess(R"(["1234"])"), "");
  EXPECT_EQ(excess(R"(["12345"])"), "has a text of more than 4 bytes");
  EXPECT_EQ(excess(R"({"12345": 1})"), "has a text of more than 4 bytes");
  EXPECT_EQ(excess("[1,2,3,4,5,6]"), "");
  EXPECT_EQ(excess("[1,2,3,4,5,6,7]"), "has more than 6 values");
}

TEST(JsonLimits, WhatIsInATextCountsAsText) {
  EXPECT_EQ(excess(R"(["[[[["])"), "");
  EXPECT_EQ(excess(R"(["\"[{:"])"), "has a text of more than 4 bytes");
  EXPECT_EQ(excess(R"(["\"[{"])"), "");
  EXPECT_EQ(excess(R"(["\\", [1]])"), "");
}

TEST(JsonLimits, ATextThatIsNoJsonIsLeftToItsReader) {
  for (const char* text : {"", "]]]]", "}", "\"", "{\"a", "\\", ":::"}) EXPECT_EQ(excess(text), "");
}

}  // namespace
}  // namespace diml
