#include <atomic>
#include <memory>

#include <gtest/gtest.h>

#include "base/refusal.h"
#include "diml/searcher.h"
#include "search/filtered_items.h"

namespace diml {
namespace {

// All copies count together.
Progress ended_after(int looks) {
  return Progress().with(
      [left = std::make_shared<std::atomic<int>>(looks)] { return (*left)-- <= 0; });
}

class CancelledSearch : public test::Filtered {};
INSTANTIATE_TEST_SUITE_P(Kinds, CancelledSearch, testing::ValuesIn(test::store_kinds()),
                         test::name_of_kind);

TEST_P(CancelledSearch, StopsInEachOfItsStages) {
  add_items(0, 300);
  const Searcher searcher(store_);
  const GridView one = grid(3);
  const GridSet query(set_of({&one, 1}));
  const auto refused = [&](const SearchParams& params, const Filter& filter, int looks) {
    test::expect_refused(
        [&] { searcher.search(query.view(), 10, {}, params, filter, ended_after(looks)); },
        "cancelled", ErrorKind::cancelled);
  };
  refused({.rerank = 0}, {}, 0);    // candidates
  refused({.rerank = 100}, {}, 1);  // matching, or another block of candidates
  const std::vector<std::string> conditions = {"price<=4"};
  refused({.rerank = 0}, Filter(conditions), 0);  // the items' metadata
  test::expect_refused([&] { searcher.admitted(Filter(conditions), ended_after(0)); }, "cancelled");
  const std::vector<std::int64_t> ids = {1, 2, 3};
  test::expect_refused([&] { searcher.rerank(query.view(), ids, {}, ended_after(0)); },
                       "cancelled");
  test::expect_refused(
      [&] { rank_grids(searcher.matcher(), query.view(), query.view(), {}, ended_after(0)); },
      "cancelled");
  // A cancelled search leaves nothing behind: the next one finds what it should.
  EXPECT_EQ(searcher.search(query.view(), 10, {}, {}, Filter(conditions)).front().size(), 10U);
}

}  // namespace
}  // namespace diml
