// `diml index` and `diml search` on grids from files.

#include <filesystem>

#include "base/npy.h"
#include "cli/gallery_files.h"
#include "diml/searcher.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

class IndexCommand : public GalleryFiles {};

TEST_F(IndexCommand, BuildsAndTellsWhatThereIs) {
  EXPECT_EQ(json_of(build()).at("added"), kImages);
  const Json info = json_of({"index", "info", "g"});
  EXPECT_EQ(info.at("items"), kImages);
  EXPECT_EQ(info.at("labels"), 8);
  EXPECT_EQ(info.at("cells_per_grid"), 4);
  EXPECT_EQ(info.at("dim"), kDim);
  EXPECT_EQ(info.at("type"), "float16");
  EXPECT_EQ(info.at("first_id"), 0);
  EXPECT_EQ(info.at("last_id"), kImages - 1);
  EXPECT_EQ(info.at("index"), nullptr);
  EXPECT_NE(run_well({"index", "info", "g"}).find("40 images, ids 0 to 39, 8 labels"),
            std::string::npos);
  EXPECT_EQ(run_well({"index", "verify", "g"}), "g: 40 images, all as they were written\n");
  EXPECT_EQ(json_of({"index", "verify", "g"}).at("faults"), Json::array());
}

TEST_F(IndexCommand, HelpsWithAnExampleForEachWord) {
  for (const char* word : {"build", "add", "remove", "info", "verify", "export", "cache", "backup",
                           "restore", "compact", "salvage"}) {
    EXPECT_NE(run_well({"index", word, "--help"}).find(std::string("diml index ") + word),
              std::string::npos);
  }
  EXPECT_NE(run_well({"search", "--help"}).find("diml search"), std::string::npos);
}

TEST_F(IndexCommand, FeatureMapsInEveryLayoutBuildTheSameGalleryAndAskTheSame) {
  const NpyFile file(at("c.cells.npy"));
  std::vector<float> cells(file.count());
  file.read_floats(0, cells);
  std::vector<float> planes(cells.size());
  for (std::size_t i = 0; i < kImages; ++i) {
    for (std::size_t k = 0; k < 4 * kDim; ++k) {
      planes[(i * kDim + k % kDim) * 4 + k / kDim] = cells[i * 4 * kDim + k];
    }
  }
  const auto put = [&](const char* prefix, const std::vector<std::size_t>& shape,
                       const std::vector<float>& values) {
    NpyWriter writer(at(std::string(prefix) + ".cells.npy"), ArrayType::float32, shape);
    writer.append(values);
    writer.commit();
    for (const char* part : {".labels.npy", ".paths.txt"}) {
      if (std::filesystem::exists(at("c") + part))
        std::filesystem::copy(at("c") + part, at(prefix) + part);
    }
  };
  put("nrd", {kImages, 4, kDim}, cells);
  put("nchw", {kImages, kDim, 2, 2}, planes);
  put("nhwc", {kImages, 2, 2, kDim}, cells);
  for (const char* prefix : {"nchw", "nhwc"}) {
    const std::string name = prefix;
    const ProgramResult built = run({"index", "build", name + ".g", "--embeddings", name});
    ASSERT_EQ(built.exit_code, 0) << built.err;
    EXPECT_NE(built.err.find(".cells.npy: ["), std::string::npos) << built.err;
    EXPECT_NE(built.err.find("4 cells of 16 dimensions"), std::string::npos) << built.err;
  }
  run_well({"index", "build", "nrd.g", "--embeddings", "nrd"});
  const std::vector<std::string> wanted = exported("nrd.g");
  // Names of images without paths begin with the prefix.
  for (const char* gallery : {"nchw.g", "nhwc.g"}) {
    EXPECT_EQ(exported(gallery)[0], wanted[0]) << gallery;
    EXPECT_EQ(exported(gallery)[1], wanted[1]) << gallery;
  }
  const auto hits = [&](const Arguments& more) {
    Json all = Json::array();
    const Json found = json_of(joined({"search", "nrd.g", "--top", "5", "--embeddings"}, more));
    for (const Json& query : found.at("queries")) all.push_back(query.at("hits"));
    return all;
  };
  const Json of_cells = hits({"nrd"});
  EXPECT_EQ(of_cells.size(), kImages);
  EXPECT_EQ(hits({"nchw"}), of_cells);
  EXPECT_EQ(hits({"nhwc", "--layout", "nhwc"}), of_cells);
  EXPECT_EQ(run({"search", "nrd.g", "--embeddings", "nhwc", "--layout", "nhwc"}).err, "");
  // Its four rows, four columns and four dimensions are not told apart by the shape.
  put("cube", {kImages, 4, 4, 4}, cells);
  expect_refused({"index", "build", "cube.g", "--embeddings", "cube"},
                 {"cube.cells.npy", "--layout", ".transpose(0, 2, 3, 1)"});
  // Dimensions before cells: the doubt is told with the remedy.
  put("turned", {kImages, kDim, 4}, planes);
  EXPECT_NE(run({"index", "build", "turned.g", "--embeddings", "turned"})
                .err.find("transpose it with .transpose(0, 2, 1)"),
            std::string::npos);
}

// Results go to standard output meanwhile: the bar makes room for them.
TEST_F(IndexCommand, ASearchForPeopleShowsItsProgress) {
  run_well(build());
  const Arguments search = {"search", "g", "--embeddings", "c", "--top", "2"};
  const ProgramResult shown = run(search, {.error_stream = ErrorStream::terminal});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.err.find("\rsearch ["), std::string::npos) << shown.err;
  EXPECT_NE(shown.err.find("100% 40/40"), std::string::npos) << shown.err;
  EXPECT_TRUE(shown.err.ends_with("\r\033[K")) << shown.err;
  EXPECT_EQ(shown.out, run_well(search));
  EXPECT_EQ(run(search).err, "");
}

TEST_F(IndexCommand, ABenchmarkShowsItsProgress) {
  const ProgramResult shown =
      run({"bench", "gallery", "--images", "300", "--rerank", "5", "--dim", "8"},
          {.error_stream = ErrorStream::terminal});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* bar : {"\rmake [", "\ropen [", "\rsearch [", "\radd ["}) {
    EXPECT_NE(shown.err.find(bar), std::string::npos) << bar;
  }
}

TEST_F(IndexCommand, SearchesByIdWithScoresThatAddUp) {
  run_well(build({"--type", "float32"}));
  const Json found = json_of({"search", "g", "--id", "7,3", "--top", "5"});
  ASSERT_EQ(found.at("queries").size(), 2u);
  const Json& query = found.at("queries")[0];
  EXPECT_EQ(query.at("query"), "c:7");
  ASSERT_EQ(query.at("hits").size(), 5u);
  double before = 3.0;
  for (const Json& hit : query.at("hits")) {
    EXPECT_NE(hit.at("id"), 7);
    const double total = hit.at("total");
    EXPECT_NEAR(total, hit.at("global").get<double>() + hit.at("structural").get<double>(), 1e-6);
    EXPECT_LE(total, before);
    before = total;
  }
  // The same neighbours as an evaluation of the same grids.
  const std::string table = run_well({"search", "g", "--id", "7", "--top", "5"});
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 7);
  EXPECT_NE(table.find("total   global  struct."), std::string::npos);

  const Json plain = json_of({"search", "g", "--id", "7", "--top", "5", "--rerank", "2"});
  EXPECT_TRUE(plain.at("queries")[0].at("hits")[1].at("structural").is_number());
  EXPECT_TRUE(plain.at("queries")[0].at("hits")[2].at("structural").is_null());
}

TEST_F(IndexCommand, SearchGivesTheTotalsOfTheLibraryToTheBit) {
  run_well(build());
  const Json printed = json_of({"search", "g", "--id", "7", "--top", "40"});
  const std::shared_ptr<GridStore> gallery = open_gallery(at("g"));
  const std::unique_ptr<GridSnapshot> snapshot = gallery->snapshot();
  const GridView grid = snapshot->grid(7);
  const std::vector<std::int64_t> itself = {7};
  const std::vector<Hit> hits = Searcher(gallery).search(set_of({&grid, 1}), 40, itself)[0];
  const Json& found = printed.at("queries")[0].at("hits");
  ASSERT_EQ(found.size(), hits.size());
  for (std::size_t k = 0; k < hits.size(); ++k) {
    EXPECT_EQ(found[k].at("id"), hits[k].item.id);
    EXPECT_EQ(found[k].at("total").get<float>(), hits[k].total);
  }
}

TEST_F(IndexCommand, SearchesForGridsFromFiles) {
  run_well(build({"--type", "float32"}));
  const Json found = json_of({"search", "g", "--embeddings", "c", "--top", "1"});
  ASSERT_EQ(found.at("queries").size(), kImages);
  for (std::size_t i = 0; i < kImages; ++i) {
    const Json& hit = found.at("queries")[i].at("hits")[0];
    EXPECT_EQ(hit.at("id"), i);  // itself
    EXPECT_NEAR(hit.at("global").get<double>(), 1.0, 1e-5);
  }
  run_well({"generate", "--images", "5", "--classes", "1", "--grid", "3", "--dim", "16", "--out",
            "other"});
  expect_refused({"search", "g", "--embeddings", "other"},
                 {"the gallery has grids of 2 x 2 x 16, the query of 3 x 3 x 16"});
}

TEST_F(IndexCommand, WhatIsThereIsSkippedOrReplaced) {
  run_well(build());
  expect_refused(build(), {"is already a gallery", "'diml index add' adds to it"});
  const Arguments again = {"index", "add", "g", "--embeddings", "c"};
  Json done = json_of(again);
  EXPECT_EQ(done.at("added"), 0);
  EXPECT_EQ(done.at("known"), kImages);
  done = json_of(joined(again, {"--replace"}));
  EXPECT_EQ(done.at("added"), kImages);
  EXPECT_EQ(done.at("replaced"), kImages);
  EXPECT_EQ(done.at("items"), kImages);
  EXPECT_EQ(json_of({"index", "info", "g"}).at("first_id"), kImages);
  run_well({"index", "verify", "g"});
}

TEST_F(IndexCommand, RemovesByIdAndByPath) {
  run_well(build());
  EXPECT_EQ(run_well({"index", "remove", "g", "--ids", "3,5", "--paths", "c:7"}),
            "3 removed, 37 left in g\n");
  expect_refused({"index", "remove", "g", "--ids", "4,5"}, {"no item 5", "nothing was removed"});
  expect_refused({"index", "remove", "g", "--paths", "c:4,c:3"}, {"c:3", "nothing was removed"});
  expect_refused({"index", "remove", "g"}, {"--ids", "--paths"});
  expect_refused({"search", "g", "--id", "5"}, {"no item 5"});
  EXPECT_EQ(json_of({"index", "info", "g"}).at("items"), 37);
  run_well({"index", "verify", "g"});
}

TEST_F(IndexCommand, ANameMayHaveCommasAndBrackets) {
  std::filesystem::create_directory(at("a, b"));
  run_well({"generate", "--images", "9", "--classes", "3", "--grid", "2", "--dim", "4", "--out",
            "a, b/[x,y]"});
  run_well({"index", "build", "g,1", "--embeddings", "a, b/[x,y]"});
  EXPECT_EQ(json_of({"index", "info", "g,1"}).at("items"), 9);
  EXPECT_FALSE(std::filesystem::exists(at("g")));
}

TEST_F(IndexCommand, ExportsWhatEvaluateReads) {
  run_well(build({"--type", "float32"}));
  const std::vector<std::string> files = exported("g");
  EXPECT_EQ(files[0], bytes_of(at("c.cells.npy")));
  EXPECT_EQ(files[2], bytes_of(at("c.labels.npy")));
  run_well({"evaluate", "--cells", "exported.cells.npy", "--globals", "exported.globals.npy",
            "--labels", "exported.labels.npy"});
}

TEST_F(IndexCommand, MetadataGoesInAndOut) {
  write_bytes(at("m.jsonl"),
              "{\"path\": \"c:2\", \"metadata\": {\"price\": 12.5, \"name\": \"<b>&\"}}\n\n");
  run_well(build({"--metadata", "m.jsonl"}));
  const Json hit =
      json_of({"search", "g", "--embeddings", "c", "--top", "1"}).at("queries")[2].at("hits")[0];
  EXPECT_EQ(hit.at("metadata").at("price"), 12.5);
  exported("g");
  run_well(
      {"index", "build", "h", "--embeddings", "exported", "--metadata", "exported.items.jsonl"});
  exported("h");
  EXPECT_NE(bytes_of(at("exported.items.jsonl")).find("\"price\":12.5"), std::string::npos);
  run_well({"search", "h", "--id", "2", "--html", "page.html", "--top", "40"});
  run_well({"search", "h", "--id", "1", "--html", "page.html", "--top", "40"});
  const std::string page = bytes_of(at("page.html"));
  EXPECT_EQ(page.find("<b>&"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;&amp;"), std::string::npos);

  write_bytes(at("bad.jsonl"), "{\"path\": \"c:2\"}\n");
  expect_refused({"index", "build", "k", "--embeddings", "c", "--metadata", "bad.jsonl"},
                 {"bad.jsonl: line 1"});
}

TEST_F(IndexCommand, VerifyNamesWhatIsDamagedAndHowToGoOn) {
  run_well(build());
  std::string bytes = bytes_of(at("g/data.mdb"));
  const std::size_t place = bytes.find("c:17");
  ASSERT_NE(place, std::string::npos);
  bytes[place + 3] = '8';
  write_bytes(at("g/data.mdb"), bytes);
  const ProgramResult result = run({"index", "verify", "g"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("item 17: the checksum of its grid, text or thumbnail is wrong"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("'diml index remove g --ids 17'"), std::string::npos) << result.err;
  run_well({"index", "remove", "g", "--ids", "17"});
  run_well({"index", "verify", "g"});
  EXPECT_EQ(json_of({"index", "add", "g", "--embeddings", "c"}).at("added"), 1);
  run_well({"index", "verify", "g"});
}

TEST_F(IndexCommand, AnyDamageEndsWithWordsAndNotWithASignal) {
  run_well(build());
  const std::string good = bytes_of(at("g/data.mdb"));
  for (std::size_t page = 2; page * 4096 + 4096 <= good.size(); ++page) {
    std::string bad = good;
    for (std::size_t k = 0; k < 64; ++k) bad[page * 4096 + k] = static_cast<char>(0xd5);
    write_bytes(at("g/data.mdb"), bad);
    const ProgramResult result = run({"index", "verify", "g"});
    EXPECT_LE(result.exit_code, 1) << "page " << page;  // a page that is not in use may be anything
    EXPECT_EQ(result.exit_code == 1, result.err.find("diml index: ") != std::string::npos)
        << result.err;
  }
}

TEST_F(IndexCommand, RefusesWrongCallsInOneLine) {
  expect_refused({"index", "build", "g"}, {"--embeddings"});
  expect_refused({"index"}, {"build, add, remove"});
  expect_refused({"index", "build", "g", "--embeddings", "none"}, {"none.cells.npy"});
  expect_refused(build({"--type", "bfloat16"}), {"float16, float32 or int8"});
  for (const char* word : {"info", "verify"}) {
    expect_refused({"index", word, "none"}, {"none: there is no gallery", "diml index build"});
  }
  expect_refused({"index", "add", "none", "--embeddings", "c"}, {"there is no gallery"});
  expect_refused({"search", "none", "--id", "1"}, {"there is no gallery"});
  run_well(build());
  expect_refused({"search", "g"}, {"--id"});
  expect_refused({"search", "g", "--id", "1", "--embeddings", "c"}, {"in one way"});
  expect_refused({"search", "g", "--id", "1", "--first-stage", "faiss"},
                 {"no source of candidates 'faiss'", "exact, index"});
  expect_refused({"search", "g", "--id", "1", "--first-stage", "index"}, {"diml index cache"});
  expect_refused({"search", "g", "--id", "99"}, {"no item 99"});
  expect_refused({"search", "g", "--id", "1", "--global-weight", "-1"}, {"weights", "0 or more"});
  expect_refused({"search", "g", "photo.jpg"}, {"g: was built from arrays", "--id"});
}

#if DIML_HAS_FAISS
TEST_F(IndexCommand, AnIndexTakesInWhatChangesInTheGallery) {
  run_well(build());
  const Json made = json_of({"index", "cache", "g", "--kind", "hnsw"});
  EXPECT_EQ(made.at("items"), kImages);
  EXPECT_GT(made.at("recall").at("10").get<double>(), 0.99);
  EXPECT_NE(run_well({"index", "cache", "g"}).find("recall against exact search: @1 1.0000"),
            std::string::npos);
  run_well({"index", "verify", "g"});  // of both
  const Arguments search = {"search", "g", "--id", "7", "--first-stage", "index", "--json", "-"};
  const auto hits = [](const ProgramResult& result) {
    return Json::parse(result.out).at("queries")[0].at("hits");
  };
  const ProgramResult before = run(search);
  EXPECT_EQ(before.err, "");
  EXPECT_EQ(hits(before)[0].at("id"),
            json_of({"search", "g", "--id", "7"}).at("queries")[0].at("hits")[0].at("id"));
  const std::string first = std::to_string(hits(before)[0].at("id").get<int>());
  run_well({"index", "remove", "g", "--ids", first});
  EXPECT_FALSE(json_of({"index", "info", "g"}).at("index").at("up_to_date").get<bool>());
  const ProgramResult after = run(search);
  EXPECT_EQ(after.err, "");
  EXPECT_EQ(hits(after)[0].at("id"), hits(before)[1].at("id"));
  run_well({"generate", "--images", "60", "--classes", "8", "--grid", "2", "--dim", "16", "--out",
            "more"});
  run_well({"index", "add", "g", "--embeddings", "more"});
  EXPECT_EQ(
      run(search).err,
      "diml search: 61 images were added or removed since the hnsw index was made: 'diml index "
      "cache g' makes a new one\n");
  run_well({"index", "cache", "g"});
  EXPECT_EQ(run(search).err, "");
  expect_refused({"index", "cache", "g", "--kind", "ivf-pq"}, {"needs 10000 images"});
  expect_refused({"index", "cache", "g", "--kind", "flat"}, {"hnsw or ivf-pq"});
}
#endif

}  // namespace
}  // namespace diml::test
