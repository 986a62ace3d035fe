// Searches among some of the images, and with many queries: --where, folders, --csv, --jsonl.

#include <algorithm>
#include <filesystem>

#include "cli/photo_folder.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class SearchWhere : public PhotoFolder {
 protected:
  static constexpr std::size_t kAll = 2 * kTest;

  // All critters, each with a price and every second with a colour.
  SearchWhere() {
    std::string lines;
    std::size_t i = 0;
    for (const std::string& photo : all_photos()) {
      const std::string colour = i % 2 == 0 ? R"(, "colour": "red, warm")" : "";
      lines += R"({"path": ")" + photo + R"(", "metadata": {"price": )" + std::to_string(i % 5) +
               colour + R"(, "at": {"room": "r)" + std::to_string(i % 3) + "\"}}}\n";
      ++i;
    }
    put_text("m.jsonl", lines);
    run_well({"index", "build", "g", "--model", "small.safetensors", "--dataset", "critters",
              "--root", "critters", "--split", "all", "--metadata", "m.jsonl"});
  }

  std::vector<std::string> all_photos() const {
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(at("critters"))) {
      if (entry.path().extension() == ".jpg") {
        paths.push_back(fs::relative(entry.path(), folder_.path()).string());
      }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  Json found(const Arguments& more) const {
    Arguments arguments = {"search", "g", photos()[2], "--top", "100", "--json", "-"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(run_well(arguments));
  }
  static const Json& hits_of(const Json& answer) { return answer.at("queries")[0].at("hits"); }

  std::size_t count(const std::string& condition) const {
    const Json answer = found({"--where", condition});
    EXPECT_EQ(answer.at("items"), kAll);
    EXPECT_EQ(answer.at("admitted"), hits_of(answer).size()) << condition;
    return hits_of(answer).size();
  }
};

TEST_F(SearchWhere, EveryFormOfAConditionCounts) {
  const Json all = hits_of(found({}));
  ASSERT_EQ(all.size(), kAll);
  const auto wanted = [&](const auto& fits) {
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), fits));
  };
  const auto price = [](const Json& hit) { return hit.at("metadata").at("price").get<int>(); };
  const std::string label = all[0].at("label");
  EXPECT_EQ(count("label=" + label), kOfClass);
  EXPECT_EQ(count("label!=" + label), kAll - kOfClass);
  EXPECT_EQ(count("price=2"), wanted([&](const Json& hit) { return price(hit) == 2; }));
  EXPECT_EQ(count("price<2"), wanted([&](const Json& hit) { return price(hit) < 2; }));
  EXPECT_EQ(count("price <= 2"), wanted([&](const Json& hit) { return price(hit) <= 2; }));
  EXPECT_EQ(count("price>2"), wanted([&](const Json& hit) { return price(hit) > 2; }));
  EXPECT_EQ(count("price>=2"), wanted([&](const Json& hit) { return price(hit) >= 2; }));
  EXPECT_EQ(count("price in 0,3"), wanted([&](const Json& hit) { return price(hit) % 3 == 0; }));
  EXPECT_EQ(count(R"(colour in ["red, warm", "blue"])"), kAll / 2);
  EXPECT_EQ(count("colour exists"), kAll / 2);
  EXPECT_EQ(count("colour missing"), kAll / 2);
  EXPECT_EQ(count("at.room=r1"), kAll / 3);
  EXPECT_EQ(count("path=" + all[3].at("path").get<std::string>()), 1u);
  // An image may follow a condition.
  const std::string last = run_well({"search", "g", "--where", "price=2", photos()[2]});
  EXPECT_NE(last.find(photos()[2]), std::string::npos);
  const Json both = hits_of(found({"--where", "price<=2", "--where", "colour exists"}));
  EXPECT_EQ(both.size(), wanted([&](const Json& hit) {
              return price(hit) <= 2 && hit.at("metadata").contains("colour");
            }));
}

TEST_F(SearchWhere, GivesTheHitsOfAGalleryOfTheseImagesAlone) {
  const Json answer = found({"--where", "colour exists", "--rerank", "5"});
  std::string list;
  for (const Json& hit : hits_of(answer)) list += hit.at("path").get<std::string>() + "\n";
  put_text("list.txt", list);
  run_well({"index", "build", "alone", "--model", "small.safetensors", "--images", "list.txt"});
  const Json alone = Json::parse(
      run_well({"search", "alone", photos()[2], "--top", "100", "--rerank", "5", "--json", "-"}));
  ASSERT_EQ(hits_of(alone).size(), kAll / 2);
  for (std::size_t k = 0; k < kAll / 2; ++k) {
    for (const char* name : {"path", "rank", "first_rank", "global", "structural", "total"}) {
      EXPECT_EQ(hits_of(answer)[k].at(name), hits_of(alone)[k].at(name)) << name << " of " << k;
    }
  }
}

#if DIML_HAS_FAISS
TEST_F(SearchWhere, AnIndexIsFilteredToo) {
  run_well({"index", "cache", "g", "--kind", "hnsw"});
  const Arguments where = {"--where", "colour exists", "--where", "price!=1"};
  Arguments by_index = where;
  by_index.insert(by_index.end(), {"--first-stage", "index"});
  EXPECT_EQ(hits_of(found(by_index)), hits_of(found(where)));
}
#endif

TEST_F(SearchWhere, NoImageThatFitsIsSaid) {
  const ProgramResult result = run({"search", "g", photos()[0], "--where", "price>77"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.err.find("no image of g satisfies price>77: 0 of 24 were searched"),
            std::string::npos)
      << result.err;
}

TEST_F(SearchWhere, ALabelOrAFieldThatIsNotThereIsSaid) {
  const auto expect_hint = [&](const std::string& condition, const std::string& hint) {
    const Arguments search = {"search", "g", photos()[0], "--where", condition};
    const Arguments list = {"index", "list", "g", "--where", condition};
    for (const Arguments& command : {search, list}) {
      const std::string told = run(command).err;
      EXPECT_NE(told.find(condition), std::string::npos) << told;
      EXPECT_NE(told.find(hint), std::string::npos) << told;
      EXPECT_EQ(told.find('\n'), told.size() - 1) << told;
    }
  };
  std::string label = hits_of(found({}))[0].at("label");
  std::string other = label;
  std::transform(other.begin(), other.end(), other.begin(), ::tolower);
  ASSERT_NE(label, other);
  expect_hint("label=" + other, "there is no label " + other + ", the nearest is " + label);
  expect_hint("label=pug", "there is no label pug; there are 0");
  expect_hint("Label=" + label, "no image has Label in its metadata (did you mean label?)");
  expect_hint("size<3", "no image has size in its metadata\n");
  EXPECT_EQ(run({"index", "list", "g", "--where", "price>77"}).err,
            "no image of g satisfies price>77\n");
}

TEST_F(SearchWhere, ImagesAreListedWithWhatConditionsAskFor) {
  const Json all = Json::parse(run_well({"index", "list", "g", "--json", "-"}));
  EXPECT_EQ(all.at("items"), kAll);
  ASSERT_EQ(all.at("images").size(), kAll);
  const Json some =
      Json::parse(run_well({"index", "list", "g", "--where", "price=2", "--json", "-"}));
  Json wanted = Json::array();
  for (const Json& image : all.at("images")) {
    if (image.at("metadata").at("price") == 2) wanted.push_back(image);
  }
  EXPECT_FALSE(wanted.empty());
  EXPECT_EQ(some.at("images"), wanted);
  const std::string table = run_well({"index", "list", "g", "--where", "price=2"});
  for (const Json& image : wanted) {
    EXPECT_NE(table.find(image.at("path").get<std::string>()), std::string::npos) << table;
    EXPECT_NE(table.find(image.at("label").get<std::string>()), std::string::npos) << table;
  }
  expect_refused({"search", "g", "--id", "99"}, {"'diml index list' does"});
}

TEST_F(SearchWhere, OfOneQueryThatCannotBeReadNothingIsSkipped) {
  const ProgramResult result = run({"search", "g", "missing.jpg"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err, "diml search: missing.jpg: cannot be opened: No such file or directory\n");
}

TEST_F(SearchWhere, WrongConditionsAreRefusedInOneLine) {
  const auto refused = [&](const std::string& condition, const std::string& why) {
    expect_refused({"search", "g", photos()[0], "--where", condition}, {why});
  };
  refused("nonsense", "is not understood: write FIELD=VALUE");
  refused("=3", "names no field");
  refused("price=", "has no value: write price=VALUE, or 'price missing'");
  refused("price==3", "two signs in a row");
  refused("price in 1,,2", "lists an empty value");
  refused("price in [1,", "has no valid list");
}

TEST_F(SearchWhere, AFolderOfQueriesBecomesATableAndLinesInOrder) {
  put_photo(4, "queries/b, \"c\".jpg");
  put_photo(1, "queries/a.jpg");
  put_photo(7, "queries/z/d.jpg");
  const Arguments call = {"search", "g",        "queries", "--top",     "2",
                          "--csv",  "hits.csv", "--jsonl", "hits.jsonl"};
  EXPECT_NE(run_well(call).find("3 queries, 2 hits each at most: hits.csv, hits.jsonl"),
            std::string::npos);
  const std::vector<std::string> rows = lines_in("hits.csv");
  const std::vector<std::string> lines = lines_in("hits.jsonl");
  ASSERT_EQ(rows.size(), 1u + 3 * 2);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(rows[0], "query,rank,id,path,label,total,global,structural,first_rank,metadata");
  const std::vector<std::string> names = {"queries/a.jpg", "queries/b, \"c\".jpg",
                                          "queries/z/d.jpg"};
  const std::vector<std::string> quoted = {names[0], "\"queries/b, \"\"c\"\".jpg\"", names[2]};
  for (std::size_t q = 0; q < 3; ++q) {
    const Json one = Json::parse(lines[q]);
    EXPECT_EQ(one.at("query"), names[q]);
    ASSERT_EQ(one.at("hits").size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
      const Json& hit = one.at("hits")[k];
      const std::string& row = rows[1 + 2 * q + k];
      EXPECT_TRUE(row.starts_with(quoted[q] + "," + std::to_string(k + 1) + "," +
                                  hit.at("id").dump() + "," + hit.at("path").get<std::string>() +
                                  "," + hit.at("label").get<std::string>() + ","))
          << row;
    }
    // The same as each alone.
    const Json alone =
        Json::parse(run_well({"search", "g", names[q], "--top", "2", "--json", "-"}));
    EXPECT_EQ(alone.at("queries")[0].at("hits"), one.at("hits"));
  }
  EXPECT_EQ(run_well({"search", "g", "queries", "--top", "2", "--csv", "-"}),
            bytes_of(at("hits.csv")));
  expect_refused({"search", "g", "queries", "--csv", "-", "--jsonl", "-"},
                 {"standard output takes one of"});
}

TEST_F(SearchWhere, AnUnreadableQueryStopsItOrIsCountedAndNamed) {
  put_photo(1, "queries/a.jpg");
  put_text("queries/b.jpg", "no picture");
  put_photo(4, "queries/c.jpg");
  expect_refused({"search", "g", "queries", "--csv", "hits.csv"}, {"queries/b.jpg", "--skip-bad"});
  const ProgramResult result =
      run({"search", "g", "queries", "--skip-bad", "--top", "1", "--jsonl", "hits.jsonl"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("1 of 3"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("queries/b.jpg"), std::string::npos) << result.err;
  const std::vector<std::string> lines = lines_in("hits.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(Json::parse(lines[0]).at("query"), "queries/a.jpg");
  EXPECT_EQ(Json::parse(lines[1]).at("query"), "queries/c.jpg");
  expect_refused({"search", "g", "queries/b.jpg", "--skip-bad"}, {"queries/b.jpg"});
}

}  // namespace
}  // namespace diml::test
