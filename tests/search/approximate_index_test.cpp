#include "diml/approximate_index.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "base/refusal.h"
#include "base/temporary_folder.h"
#include "diml/generated.h"
#include "diml/searcher.h"
#if DIML_HAS_GALLERY
#include "gallery/gallery_folder.h"
#endif

namespace diml::test {
namespace {

TEST(ApproximateIndex, KindsHaveNames) {
  for (const IndexKind kind : {IndexKind::hnsw, IndexKind::ivf_pq}) {
    EXPECT_EQ(index_kind_from(name_of(kind)), kind);
  }
  expect_refused([] { index_kind_from("flat"); }, "unknown kind of index 'flat': hnsw or ivf-pq");
  EXPECT_EQ(has_approximate_index(), DIML_HAS_FAISS != 0);
}

#if DIML_HAS_FAISS

class Index : public testing::Test {
 protected:
  static constexpr std::size_t kSize = 10'000;  // as few as quantising takes
  static constexpr std::size_t kDim = 16;

  Index()
      : generated_(generate_grids({.size = kSize, .classes = 500, .grid = 3, .dim = kDim})),
        ids_(kSize) {
    std::iota(ids_.begin(), ids_.end(), 1000);
  }
  VectorsView vectors() const { return {generated_.grids.view().globals, kSize, kDim}; }

  const GeneratedGrids generated_;
  std::vector<std::int64_t> ids_;
  const TemporaryFolder folder_;
};

TEST_F(Index, FindsMostOfTheExactNeighbours) {
  const VectorsView few{vectors().data, 2000, kDim};
  const auto graph = build_index(IndexKind::hnsw, few, std::span(ids_).first(2000), {}, 1);
  EXPECT_GT(recall_of(*graph, few, ids_, 10, 200, 1), 0.98);
  EXPECT_EQ(graph->size(), 2000u);
  const auto lists = build_index(IndexKind::ivf_pq, vectors(), ids_, {}, 1);
  EXPECT_GT(recall_of(*lists, vectors(), ids_, 10, 200, 1), 0.5);
  EXPECT_LE(recall_of(*lists, vectors(), ids_, 10, 200, 1), 1.0);
}

TEST_F(Index, IsTheSameAfterSavingAndLoading) {
  const std::string path = folder_ / "index";
  for (const IndexKind kind : {IndexKind::hnsw, IndexKind::ivf_pq}) {
    const std::size_t count = kind == IndexKind::hnsw ? 1000 : kSize;
    const auto made =
        build_index(kind, {vectors().data, count, kDim}, std::span(ids_).first(count), {77, 5}, 1);
    made->save(path);
    const auto loaded = load_index(path);
    EXPECT_EQ(loaded->kind(), kind);
    EXPECT_EQ(loaded->origin(), (IndexOrigin{77, 5}));
    for (std::size_t q = 0; q < kSize; q += 997) {
      const std::span<const float> query(vectors().data + q * kDim, kDim);
      EXPECT_EQ(loaded->about_nearest(query, 20), made->about_nearest(query, 20));
    }
  }
}

TEST_F(Index, ADamagedFileIsRefused) {
  const std::string path = folder_ / "index";
  const VectorsView few{vectors().data, 300, kDim};
  build_index(IndexKind::hnsw, few, std::span(ids_).first(300), {})->save(path);
  const std::string good = bytes_of(path);
  for (const std::size_t at : {std::size_t{0}, good.size() / 2, good.size() - 1}) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    write_bytes(path, bad);
    expect_refused([&] { load_index(path); }, "is damaged: build a new one");
  }
  write_bytes(path, good.substr(0, 20));
  expect_refused([&] { load_index(path); }, "is damaged");
}

TEST_F(Index, CanBeCancelledWhileItIsBuilt) {
  const Progress ended = Progress().with([] { return true; });
  for (const IndexKind kind : {IndexKind::hnsw, IndexKind::ivf_pq}) {
    expect_refused(
        [&] {
          build_index(kind, vectors(), ids_, {1, 2}, 1, ended);
        },
        "cancelled", ErrorKind::cancelled);
  }
}

TEST_F(Index, TooFewImagesForQuantisingAreRefused) {
  const VectorsView few{vectors().data, 500, kDim};
  expect_refused([&] { build_index(IndexKind::ivf_pq, few, std::span(ids_).first(500), {}); },
                 "needs 10000 images");
}

#if DIML_HAS_GALLERY

class SearchByIndex : public GalleryFolder {
 protected:
  static void make_index(const GridStore& gallery) {
    const std::unique_ptr<GridSnapshot> snapshot = gallery.snapshot();
    const StoredVectors all = snapshot->vectors();
    build_index(IndexKind::hnsw, {all.globals.data(), all.ids.size(), kDim}, all.ids,
                {snapshot->birth(), snapshot->revision()})
        ->save(index_file(gallery.name()));
  }

  void expect_alike(const Searcher& found, const Searcher& wanted) const {
    const auto hits = found.search(generated_.grids.view(), 10);
    const auto expected = wanted.search(generated_.grids.view(), 10);
    for (std::size_t q = 0; q < kImages; ++q) {
      ASSERT_EQ(hits[q].size(), 10u);
      for (std::size_t k = 0; k < 10; ++k) {
        EXPECT_EQ(hits[q][k].item.id, expected[q][k].item.id);
        EXPECT_EQ(hits[q][k].global, expected[q][k].global);
        EXPECT_EQ(hits[q][k].total, expected[q][k].total);
      }
    }
  }
};

TEST_F(SearchByIndex, GivesTheScoresOfExactSearchToTheBit) {
  const std::shared_ptr<GridStore> gallery = filled();
  make_index(*gallery);
  const Searcher approximate(gallery, {.source = "index"});
  EXPECT_STREQ(approximate.source(), "hnsw");
  expect_alike(approximate, Searcher(gallery));
}

TEST_F(SearchByIndex, TakesInChangesAndFindsWhatAFreshStartFinds) {
  const std::shared_ptr<GridStore> gallery = create_gallery(folder_ / "g", format());
  add(*gallery, 0, 40);
  make_index(*gallery);
  const Searcher searcher(gallery, {.source = "index"});
  add(*gallery, 40, 20);
  gallery->remove(std::vector<std::int64_t>{3, 4, 41});
  EXPECT_EQ(searcher.size(), 57u);
  EXPECT_EQ(searcher.beside_source(), 19u + 2u);
  EXPECT_STREQ(searcher.source(), "hnsw");
  expect_alike(searcher, Searcher(gallery));
  expect_alike(searcher, Searcher(gallery, {.source = "index"}));
}

TEST_F(SearchByIndex, RefusesTheIndexOfAnotherGallery) {
  make_index(*filled("other"));
  const std::shared_ptr<GridStore> gallery = filled();
  expect_refused([&] { Searcher(gallery, {.source = "index"}); }, "has no index: build one");
  std::filesystem::copy(index_file(folder_ / "other"), index_file(folder_ / "g"));
  expect_refused([&] { Searcher(gallery, {.source = "index"}); }, "made of another gallery");
}

#endif

#endif

}  // namespace
}  // namespace diml::test
