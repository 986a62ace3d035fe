// A first stage of the caller's own, over every kind of store.

#include <atomic>

#include "search/filtered_items.h"

namespace diml::test {
namespace {

// The smallest first stage: it compares with every vector of the snapshot that it was made of.
class DoubleSource final : public CandidateSource {
 public:
  explicit DoubleSource(const GridSnapshot& snapshot)
      : all_(snapshot.vectors()), dim_(snapshot.format().dim) {}

  const char* name() const override { return "double"; }
  std::size_t size() const override { return all_.ids.size(); }

  Ranking nearest(const CandidateRequest& request) const override {
    std::vector<const float*> vectors;
    for (std::size_t k = 0; k < size(); ++k) vectors.push_back(&all_.globals[k * dim_]);
    Ranking ranking(request.queries.count, std::min(request.depth, size()));
    for (std::size_t q = 0; q < request.queries.count; ++q) {
      const std::vector<float> scores = cosines({request.queries.data + q * dim_, dim_}, vectors);
      std::vector<std::size_t> order;
      for (std::size_t k = 0; k < size(); ++k) {
        const bool excluded = !request.exclude.empty() && request.exclude[q] == all_.ids[k];
        const bool admitted =
            !request.admitted ||
            std::binary_search(request.admitted->begin(), request.admitted->end(), all_.ids[k]);
        if (!excluded && admitted) order.push_back(k);
      }
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t x, std::size_t y) { return scores[x] > scores[y]; });
      for (std::size_t k = 0; k < ranking.depth; ++k) {
        const std::size_t place = q * ranking.depth + k;
        ranking.ids[place] = k < order.size() ? all_.ids[order[k]] : -1;
        ranking.scores[place] = k < order.size() ? scores[order[k]] : 0.0F;
      }
    }
    return ranking;
  }

 private:
  StoredVectors all_;
  std::size_t dim_;
};

BaseSource double_of(const GridSnapshot& snapshot, int) {
  return {std::make_shared<DoubleSource>(snapshot), snapshot.revision()};
}

class OwnSource : public Filtered {};
INSTANTIATE_TEST_SUITE_P(Kinds, OwnSource, testing::ValuesIn(store_kinds()), name_of_kind);

TEST_P(OwnSource, FindsWhatTheExactOneFindsThroughEveryChange) {
  add_items(0, 200);
  const Searcher own(store_, {.make_source = double_of});
  const Searcher exact(store_);
  EXPECT_STREQ(own.source(), "double");
  const std::vector<std::string> conditions = {"price<=3"};
  const auto expect_same = [&] {
    const Ids exclude = {1, 4, 7};
    expect_same_hits(own.search(queries(3), 40, exclude, {.rerank = 20}),
                     exact.search(queries(3), 40, exclude, {.rerank = 20}));
    expect_same_hits(own.search(queries(3), 40, exclude, {.rerank = 20}, Filter(conditions)),
                     exact.search(queries(3), 40, exclude, {.rerank = 20}, Filter(conditions)));
  };
  expect_same();
  add_items(200, 40);
  expect_same();
  store_->remove(Ids{0, 2, 50, 51, 52, 210});
  expect_same();
  store_->remove(Ids{3, 211, 239});
  add_items(240, 1);
  expect_same();
  EXPECT_EQ(own.beside_source(), 6U + 38U);
  EXPECT_EQ(own.size(), store_->snapshot()->size());
}

TEST_P(OwnSource, MayBeOfAnOlderRevision) {
  add_items(0, 100);
  const BaseSource held = double_of(*store_->snapshot(), 1);
  store_->remove(Ids{5});
  add_items(100, 20);
  const Searcher own(store_, {.make_source = [&](const GridSnapshot&, int) { return held; }});
  EXPECT_EQ(own.beside_source(), 21U);
  expect_same_hits(own.search(queries(5), 30), Searcher(store_).search(queries(5), 30));
}

TEST_P(OwnSource, IsMadeAgainWhereManyItemsAreNew) {
  add_items(0, 10);
  std::atomic<int> made = 0;
  const auto counting = [&](const GridSnapshot& snapshot, int threads) {
    ++made;
    return double_of(snapshot, threads);
  };
  const Searcher own(store_, {.make_source = counting});
  add_items(10, 10);
  EXPECT_EQ(own.beside_source(), 10U);
  EXPECT_EQ(made, 1);
  add_items(20, 4100);
  EXPECT_EQ(own.beside_source(), 0U);
  EXPECT_EQ(made, 2);
}

TEST_P(OwnSource, MayLeaveTheWorkToTheExactOneButNotBeOfAnotherStore) {
  add_items(0, 20);
  const Searcher none(store_,
                      {.make_source = [](const GridSnapshot&, int) { return BaseSource(); }});
  EXPECT_STREQ(none.source(), "exact");
  expect_same_hits(none.search(queries(2), 10), Searcher(store_).search(queries(2), 10));
  const auto later = [](const GridSnapshot& snapshot, int threads) {
    BaseSource base = double_of(snapshot, threads);
    base.revision += 7;
    return base;
  };
  expect_refused([&] { Searcher(store_, {.make_source = later}); },
                 "the source of candidates is of revision 8, the store of 1", ErrorKind::conflict);
}

}  // namespace
}  // namespace diml::test
