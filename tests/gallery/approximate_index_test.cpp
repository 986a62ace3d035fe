#include "diml/approximate_index.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "diml/gallery_search.h"
#include "gallery/gallery_folder.h"

namespace diml::test {
namespace {

TEST(ApproximateIndex, KindsHaveNames) {
  for (const IndexKind kind : {IndexKind::hnsw, IndexKind::ivf_pq}) {
    EXPECT_EQ(index_kind_from(name_of(kind)), kind);
  }
  expect_refused([] { index_kind_from("flat"); }, "no kind of index 'flat': hnsw or ivf-pq");
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
      EXPECT_EQ(loaded->nearest(query, 20), made->nearest(query, 20));
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
    expect_refused([&] { load_index(path); }, "is damaged: 'diml index cache' makes a new one");
  }
  write_bytes(path, good.substr(0, 20));
  expect_refused([&] { load_index(path); }, "is damaged");
}

TEST_F(Index, TooFewImagesForQuantisingAreRefused) {
  const VectorsView few{vectors().data, 500, kDim};
  expect_refused([&] { build_index(IndexKind::ivf_pq, few, std::span(ids_).first(500), {}); },
                 "needs 10000 images");
}

class SearchByIndex : public GalleryFolder {};

TEST_F(SearchByIndex, GivesTheExactScoresAndItsOriginIsChecked) {
  Gallery gallery = filled();
  const GallerySnapshot snapshot = gallery.snapshot();
  const GalleryVectors all = snapshot.vectors();
  const std::shared_ptr<const ApproximateIndex> index =
      build_index(IndexKind::hnsw, {all.globals.data(), kImages, kDim}, all.ids,
                  {snapshot.birth(), snapshot.revision()});
  GallerySearch approximate(gallery, index);
  const GallerySearch exact(gallery);
  const std::vector<std::int64_t> themselves = all.ids;
  const auto wanted = exact.search(generated_.grids.view(), 10, themselves);
  const auto found = approximate.search(generated_.grids.view(), 10, themselves);
  for (std::size_t q = 0; q < kImages; ++q) {
    ASSERT_EQ(found[q].size(), 10u);
    for (std::size_t k = 0; k < 10; ++k) {
      EXPECT_EQ(found[q][k].item.id, wanted[q][k].item.id);
      EXPECT_NEAR(found[q][k].global, wanted[q][k].global, 1e-6);
      EXPECT_EQ(found[q][k].structural, wanted[q][k].structural);
    }
  }

  gallery.remove(std::vector<std::int64_t>{3});
  const auto after = approximate.search(some(3, 1), 10);
  for (const GalleryHit& hit : after[0]) EXPECT_NE(hit.item.id, 3);
  expect_refused([&] { GallerySearch(gallery, index); }, "its index is out of date");
  EXPECT_TRUE(approximate.refresh());
  EXPECT_EQ(approximate.size(), kImages - 1);
}

#endif

}  // namespace
}  // namespace diml::test
