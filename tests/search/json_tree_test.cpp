// A tree of JSON is freed where there is no memory at all.

#include "search/json_tree.h"

#include <cstdlib>
#include <limits>
#include <new>
#include <string>

#include <gtest/gtest.h>

#include "diml/error.h"
#include "search/condition.h"
#include "search/item_metadata.h"

namespace {

// How many allocations still succeed.
thread_local std::size_t allowed = std::numeric_limits<std::size_t>::max();
thread_local std::size_t asked = 0;

void* allocated(std::size_t bytes) {
  ++asked;
  if (allowed == 0) throw std::bad_alloc();
  --allowed;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocated(bytes); }
void* operator new[](std::size_t bytes) { return allocated(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace diml::test {
namespace {

class Memory {
 public:
  explicit Memory(std::size_t allocations) { allowed = allocations; }
  ~Memory() { allowed = std::numeric_limits<std::size_t>::max(); }
};

// Objects and lists in each other, with texts too long to lie within their strings.
std::string nested(int depth) {
  const std::string text(40, 'x');
  std::string inner = "[1,2.5,\"" + text + "\",{},[],null,true]";
  for (int k = 0; k < depth; ++k) {
    inner = "{\"" + text + std::to_string(k) + "\":[" + inner + "," + inner.substr(0, 0) +
            "{\"a\":\"" + text + "\"}],\"b\":{\"c\":[[[\"" + text + "\"]]]}}";
  }
  return inner;
}

// Runs it again and again, each time with one more allocation, until it needs no more.
template <class Work>
std::size_t failures_of(Work work) {
  for (std::size_t n = 0;; ++n) {
    try {
      const Memory few(n);
      work();
      return n;
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
}

TEST(JsonTree, IsFreedWithoutAnyMemory) {
  const std::string text = nested(10);
  auto tree = JsonTree::parse(text);
  EXPECT_EQ(tree.root().dump(), nlohmann::json::parse(text).dump());
  const std::size_t before = asked;
  {
    const Memory none(0);
    JsonTree moved = std::move(tree);
    moved = JsonTree();
  }
  EXPECT_EQ(asked, before);
}

TEST(JsonTree, OfHalfATextIsFreedWhereverMemoryEnds) {
  for (const std::string& text :
       {nested(3), nested(3).substr(0, 300), std::string("[[[[1,"), std::string("{\"a\":1e999}")}) {
    const std::size_t failed = failures_of([&] {
      try {
        const auto tree = JsonTree::parse(text);
      } catch (const nlohmann::json::exception&) {
      }
      const auto other = JsonTree::parse_or_discard(text);
    });
    EXPECT_GT(failed, 3u);
  }
}

TEST(JsonTree, MetadataAndConditionsSurviveTheEndOfMemory) {
  const std::string text = R"({"a": {"b": [1, 2, {"c": "x"}]}, "price": 20, "list": ["p", "q"]})";
  EXPECT_GT(failures_of([&] { (void)checked_metadata(text, "a.jpg"); }), 10u);
  const std::vector<Condition> conditions = {condition_from("price<=20"), condition_from("list=q")};
  EXPECT_GT(failures_of([&] { (void)hold_in_metadata(conditions, text); }), 10u);
  EXPECT_GT(failures_of([&] {
              try {
                (void)condition_from("colour in [\"a,b\",[[\"c\"]]]");
              } catch (const Error&) {
              }
            }),
            10u);
}

TEST(JsonTree, KnowsWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":}", "nul", "1e999", "\"\xff\"", "[1]2"}) {
    EXPECT_TRUE(JsonTree::parse_or_discard(text).root().is_discarded()) << text;
    EXPECT_THROW(JsonTree::parse(text), nlohmann::json::exception) << text;
  }
}

}  // namespace
}  // namespace diml::test
