// Names of files are bytes: what every command prints and stores of names that are no UTF-8, move
// the cursor, break lines, or look like options, tables or markup.

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/base64.h"
#include "base/input_file.h"
#include "base/shown_text.h"
#include "cli/photo_folder.h"
#include "diml/gallery.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const std::vector<std::string> kNames = {
    "caf\xe9.jpg",            // Latin-1
    "new\nline.jpg",          //
    "return\rhere.jpg",       //
    "red\x1b[31m\x07.jpg",    // a terminal's escape sequence
    "quote\".jpg",            //
    "\"begins.jpg",           //
    "-dash.jpg",              //
    "comma,colon;.jpg",       //
    "<script>alert(1).jpg",   //
    "back\\slash.jpg",        //
    "rtl\xe2\x80\xaegpj.jpg"  // reads backwards
};

// Nothing in it moves the cursor, and all of it is UTF-8.
bool is_clean(const std::string& text) {
  return is_utf8(text) && text.find("\xe2\x80\xae") == std::string::npos &&
         std::none_of(text.begin(), text.end(), [](char c) {
           return (static_cast<unsigned char>(c) < ' ' && c != '\n') || c == '\x7f';
         });
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The name that a line of JSON means.
std::string meant(const Json& json, const std::string& key) {
  if (!json.contains(key + "_bytes")) return json.at(key).get<std::string>();
  EXPECT_FALSE(is_utf8(bytes_of_base64(json.at(key + "_bytes").get<std::string>()).value()));
  return bytes_of_base64(json.at(key + "_bytes").get<std::string>()).value();
}

// The fields of a table's first row and all others, by RFC 4180.
std::vector<std::vector<std::string>> rows_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows = {{""}};
  bool quoted = false;
  for (std::size_t k = 0; k < csv.size(); ++k) {
    const char c = csv[k];
    if (quoted && c == '"' && k + 1 < csv.size() && csv[k + 1] == '"') {
      rows.back().back() += csv[++k];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      rows.back().emplace_back();
    } else if (!quoted && c == '\n') {
      rows.push_back({""});
    } else if (quoted || c != '\r') {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

// photos/CLASS/NAME for each of the names, in two classes with names of their own.
class HostileNames : public PhotoFolder {
 protected:
  HostileNames() {
    for (std::size_t k = 0; k < kNames.size(); ++k) put_photo(k % kTest, file(k));
  }
  static std::string label(std::size_t k) { return k % 2 == 0 ? "\xe9t\xe9" : "two\nlines"; }
  static std::string file(std::size_t k) { return "photos/" + label(k) + "/" + kNames[k]; }
  std::string place(std::size_t k) const { return fs::absolute(at(file(k))).string(); }
  std::set<std::string> places() const {
    std::set<std::string> all;
    for (std::size_t k = 0; k < kNames.size(); ++k) all.insert(place(k));
    return all;
  }
  std::string build() const {
    return run_well({"index", "build", "g", "--model", "small.safetensors", "--dataset", "folder",
                     "--root", "photos"});
  }
  std::set<std::string> paths_in(const std::string& gallery) const {
    std::set<std::string> paths;
    const auto snapshot = open_gallery(at(gallery))->snapshot();
    for (const std::int64_t id : snapshot->ids()) paths.insert(snapshot->item(id).path);
    return paths;
  }
};

TEST_F(HostileNames, AreStoredAsTheyAreAndShownInOneLine) {
  EXPECT_TRUE(is_clean(build()));
  EXPECT_EQ(paths_in("g"), places());
  EXPECT_TRUE(is_clean(run_well({"index", "info", "g"})));
  EXPECT_TRUE(is_clean(run_well({"index", "verify", "g"})));
  EXPECT_NE(run_well({"index", "add", "g", "--images", "photos"}).find("0 images added"),
            std::string::npos);
  const std::string removed = run_well({"index", "remove", "g", "--paths", place(0)});
  EXPECT_EQ(paths_in("g").count(place(0)), 0u) << removed;
}

TEST_F(HostileNames, OfHitsAreShownInTheirRows) {
  build();
  for (const Arguments& query : {Arguments{"--id", "0"}, Arguments{file(0)}, Arguments{file(3)}}) {
    Arguments search = {"search", "g", "--top", "20"};
    search.insert(search.end(), query.begin(), query.end());
    const std::string table = run_well(search);
    EXPECT_TRUE(is_clean(table)) << table;
    // The name of the query, the heading, the hits.
    EXPECT_EQ(lines_of(table), 2 + kNames.size() - (query.size() == 2 ? 1 : 0)) << table;
    EXPECT_NE(table.find("caf\\xE9.jpg\n"), std::string::npos) << table;
    EXPECT_NE(table.find("two\\nlines"), std::string::npos) << table;
    EXPECT_NE(table.find("back\\\\slash.jpg\n"), std::string::npos) << table;
  }
}

TEST_F(HostileNames, OfHitsAreWholeInJsonAndTables) {
  build();
  run_well({"search", "g", file(0), file(1), "--top", "20", "--json", "hits.json", "--jsonl",
            "hits.jsonl", "--csv", "hits.csv", "--html", "hits.html"});
  const Json report = Json::parse(bytes_of(at("hits.json")));
  ASSERT_EQ(report.at("queries").size(), 2u);
  EXPECT_EQ(meant(report["queries"][0], "query"), file(0));
  EXPECT_EQ(meant(report["queries"][1], "query"), file(1));
  const std::vector<std::string> lines = lines_in("hits.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  for (std::size_t q = 0; q < 2; ++q) {
    std::set<std::string> found;
    for (const Json& hit : report["queries"][q].at("hits")) found.insert(meant(hit, "path"));
    EXPECT_EQ(found, places());
    EXPECT_EQ(Json::parse(lines[q]).at("hits"), report["queries"][q].at("hits"));
  }
  EXPECT_EQ(meant(report["queries"][0]["hits"][0], "label"), label(0));
  const auto rows = rows_of(bytes_of(at("hits.csv")));
  ASSERT_EQ(rows.size(), 1 + 2 * kNames.size());
  std::set<std::string> found;
  for (std::size_t k = 1; k < rows.size(); ++k) {
    ASSERT_EQ(rows[k].size(), rows[0].size());
    found.insert(rows[k][3]);
  }
  EXPECT_EQ(rows[0][3], "path");
  EXPECT_EQ(found, places());
  const std::string page = bytes_of(at("hits.html"));
  EXPECT_TRUE(is_utf8(page));
  EXPECT_EQ(page.find("<script>"), std::string::npos);
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  EXPECT_NE(page.find("caf\\xE9.jpg"), std::string::npos);
  // Standard output for programs is UTF-8 as well.
  for (const char* form : {"--jsonl", "--json"}) {
    const std::string text = run_well({"search", "g", file(0), form, "-"});
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  }
}

TEST_F(HostileNames, SurviveExportAndBuild) {
  build();
  EXPECT_TRUE(is_clean(run_well({"index", "export", "g", "--out", "out"})));
  const std::vector<std::string> names = read_names(at("out.paths.txt"));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), places());
  // Ordinary names are lines as they are, whatever their bytes.
  const std::vector<std::string> lines = lines_in("out.paths.txt");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), place(3)), 0) << "its class breaks the line";
  EXPECT_EQ(std::count(lines.begin(), lines.end(), place(0)), 1);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), place(4)), 1);
  run_well({"index", "build", "again", "--embeddings", "out", "--metadata", "out.items.jsonl"});
  EXPECT_EQ(paths_in("again"), places());
  const auto snapshot = open_gallery(at("again"))->snapshot();
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    const auto id = snapshot->find(place(k));
    ASSERT_TRUE(id) << shown(place(k));
    EXPECT_EQ(snapshot->item(*id).label, label(k));
  }
}

TEST_F(HostileNames, OfMetadataAreTaken) {
  build();
  const std::string name = place(0);
  const Json line = {
      {"path", "anything"}, {"path_bytes", base64({name.begin(), name.end()})}, {"label", "drink"}};
  const Json broken = {{"path", "a.jpg"}, {"path_bytes", "?"}, {"label", "x"}};
  put_text("words.jsonl", line.dump() + "\n");
  run_well({"index", "add", "g", "--dataset", "folder", "--root", "photos", "--metadata",
            "words.jsonl"});
  const auto snapshot = open_gallery(at("g"))->snapshot();
  EXPECT_EQ(snapshot->item(*snapshot->find(place(0))).label, "drink");
  put_text("broken.jsonl", broken.dump() + "\n");
  expect_refused({"index", "add", "g", "--images", "photos", "--metadata", "broken.jsonl"},
                 {"broken.jsonl: line 1"});
}

TEST_F(HostileNames, OfASyncAreShownAndWhole) {
  build();
  for (std::size_t k = 0; k < kNames.size(); ++k) fs::remove(at(file(k)));
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    put_photo(k % kTest, "photos/" + label(k) + "/2" + kNames[k]);
  }
  const ProgramResult plan = run({"index", "sync", "g", "photos", "--dry-run", "--force"});
  EXPECT_TRUE(is_clean(plan.out)) << plan.out;
  EXPECT_TRUE(is_clean(plan.err)) << plan.err;
  EXPECT_EQ(lines_of(plan.out), 2 * kNames.size() + 1) << plan.out;
  const Json steps =
      Json::parse(run_well({"index", "sync", "g", "photos", "--dry-run", "--force", "--json", "-"}))
          .at("steps");
  std::set<std::string> removed;
  for (const Json& step : steps) {
    if (step.at("action") == "remove") removed.insert(meant(step, "path"));
  }
  EXPECT_EQ(removed, places());
}

TEST_F(HostileNames, OfEmbeddedPhotosReachTheirLists) {
  EXPECT_TRUE(is_clean(run_well(
      embed({"--dataset", "folder", "--root", "photos", "--split", "all", "--out", "made"}))));
  const std::vector<std::string> names = read_names(at("made.paths.txt"));
  ASSERT_EQ(names.size(), kNames.size());
  EXPECT_EQ(lines_in("made.paths.txt").size(), kNames.size());
  for (const std::string& name : names) EXPECT_TRUE(fs::exists(at(name))) << shown(name);
  // Such a list names photos, too.
  run_well(embed({"--images", "made.paths.txt", "--out", "same"}));
  EXPECT_EQ(bytes_of(at("same.paths.txt")), bytes_of(at("made.paths.txt")));
  EXPECT_EQ(bytes_of(at("same.cells.npy")), bytes_of(at("made.cells.npy")));

  const Arguments files = {"evaluate",         "--cells",  "made.cells.npy", "--globals",
                           "made.globals.npy", "--labels", "made.labels.npy"};
  const auto evaluated = [&](const Arguments& more) {
    Arguments all = files;
    all.insert(all.end(), more.begin(), more.end());
    return run_well(all);
  };
  const std::string told =
      evaluated({"--paths", "made.paths.txt", "--per-query", "q.jsonl", "--html", "q.html"});
  EXPECT_TRUE(is_clean(told));
  evaluated({"--paths", "made.paths.txt", "--per-query", "q.csv"});
  const std::vector<std::string> lines = lines_in("q.jsonl");
  ASSERT_EQ(lines.size(), kNames.size());
  const auto rows = rows_of(bytes_of(at("q.csv")));
  ASSERT_EQ(rows.size(), kNames.size() + 1);
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    EXPECT_EQ(meant(Json::parse(lines[k]), "path"), names[k]);
    EXPECT_EQ(rows[k + 1][1], names[k]);
  }
  const std::string page = bytes_of(at("q.html"));
  EXPECT_TRUE(is_utf8(page));
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
}

TEST_F(HostileNames, OfPhotosThatCannotBeReadAreLinesOfTheReport) {
  for (std::size_t k = 0; k < kNames.size(); ++k) put_text(file(k), "no photo");
  put_photo(0, "photos/good/1.jpg");
  const ProgramResult result = run(embed(
      {"--dataset", "folder", "--root", "photos", "--split", "all", "--out", "x", "--skip-bad"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(is_clean(result.err)) << result.err;
  EXPECT_EQ(lines_of(result.err), 1 + kNames.size()) << result.err;
  EXPECT_EQ(lines_in("x.bad.txt").size(), kNames.size());
  for (const std::string& reason : read_names(at("x.bad.txt"))) {
    EXPECT_EQ(reason.find("photos/"), 0u) << shown(reason);
  }
}

TEST_F(HostileNames, InErrorsAreOneLine) {
  build();
  for (const std::string& name : kNames) {
    const ProgramResult none = run({"search", "g", "none/" + name});
    EXPECT_EQ(none.exit_code, 1);
    EXPECT_EQ(lines_of(none.err), 1u) << none.err;
    EXPECT_TRUE(is_clean(none.err)) << none.err;
    const ProgramResult gallery = run({"search", "none/" + name, "--id", "0"});
    EXPECT_EQ(lines_of(gallery.err), 1u) << gallery.err;
    EXPECT_TRUE(is_clean(gallery.err)) << gallery.err;
    const ProgramResult option = run({"search", "g", "--none" + name});
    EXPECT_EQ(option.exit_code, 2);
    EXPECT_TRUE(is_clean(option.err)) << option.err;
  }
}

TEST_F(HostileNames, OfComparedPhotosAreInTheirFiguresAndPages) {
  for (std::size_t k = 0; k + 1 < kNames.size(); k += 2) {
    const std::string told =
        run_well({"explain", file(k), file(k + 1), "--model", "small.safetensors", "--out",
                  "why.html", "--out", "why.svg", "--out", "why.json"});
    EXPECT_TRUE(is_clean(told)) << told;
    for (const char* made : {"why.html", "why.svg", "why.json"}) {
      const std::string text = bytes_of(at(made));
      EXPECT_TRUE(is_utf8(text)) << made;
      EXPECT_EQ(text.find('\x1b'), std::string::npos) << made;
      EXPECT_EQ(text.find("<script>alert"), std::string::npos) << made;
    }
  }
  build();
  run_well({"explain", place(0), place(1), "--gallery", "g", "--out", "g.html"});
  EXPECT_TRUE(is_utf8(bytes_of(at("g.html"))));
}

// Each command, with names of its own files and folders that are hostile: what it prints is clean,
// and what it is told to write has that name, byte for byte.
TEST_F(HostileNames, OfWhatACommandReadsAndWrites) {
  const std::string x = "\xe9\n\x1b[31m\"<b>";
  const auto well = [&](const Arguments& arguments, const std::vector<std::string>& made = {}) {
    const ProgramResult result = run(arguments);
    SCOPED_TRACE(arguments[0] + " " + arguments[1]);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(is_clean(result.out)) << result.out;
    EXPECT_TRUE(is_clean(result.err)) << result.err;
    for (const std::string& name : made) EXPECT_TRUE(fs::exists(at(name))) << shown(name);
    return result.out;
  };
  const std::string model = x + ".safetensors";
  const std::string data = x + ".d";
  const std::string gallery = x + ".g";
  const std::string rows = x + ".rows";
  well({"weights", "create", "small", "--out", model}, {model});
  well({"weights", "info", model});
  well({"critters", "--out", data, "--classes", "4", "--images-per-class", "4", "--size", "64"},
       {data});
  const Arguments photos_there = {"--model", model, "--dataset", "critters", "--root", data};
  const auto with = [&](Arguments begin, const Arguments& more) {
    begin.insert(begin.end(), photos_there.begin(), photos_there.end());
    begin.insert(begin.end(), more.begin(), more.end());
    return begin;
  };
  well({"weights", "project", model, "--dim", "8", "--kind", "random", "--replace", "--out",
        x + ".p.safetensors"},
       {x + ".p.safetensors"});
  well(with({"embed"}, {"--split", "all", "--out", x + ".e"}), {x + ".e.cells.npy"});
  well(with({"evaluate"}, {"--rerank", "0", "--json", x + ".json"}), {x + ".json"});
  EXPECT_TRUE(Json::accept(bytes_of(at(x + ".json"))));
  well(with({"explain-eval"}, {"--split", "all", "--pairs", "4", "--json", x + ".why.json"}));
  well({"generate", "--images", "12", "--classes", "3", "--grid", "2", "--dim", "8", "--out", rows},
       {rows + ".cells.npy"});

  well(with({"index", "build", gallery}, {"--split", "all"}), {gallery + "/data.mdb"});
  EXPECT_TRUE(Json::accept(well({"index", "info", gallery, "--json", "-"})));
  well({"index", "verify", gallery});
  well({"index", "export", gallery, "--out", x + ".out"}, {x + ".out.cells.npy"});
  well({"index", "cache", gallery});
  well({"index", "backup", gallery, x + ".b"}, {x + ".b/data.mdb"});
  well({"index", "compact", gallery});
  well({"index", "salvage", gallery, x + ".s"}, {x + ".s/data.mdb"});
  well({"index", "restore", x + ".b", gallery}, {gallery + ".replaced"});
  well({"search", gallery, "--id", "0", "--html", x + ".html", "--csv", x + ".csv"},
       {x + ".html", x + ".csv"});
}

// What is not there is named in one line, by each command.
TEST_F(HostileNames, OfWhatIsNotThereAreOneLine) {
  const std::string none = "none/\xe9\n\x1b[31m";
  const std::vector<Arguments> calls = {
      {"match", "--cells", none, "--pairs", none, "--out", "s.npy"},
      {"evaluate", "--cells", none, "--globals", none, "--labels", none},
      {"evaluate", "--model", none, "--dataset", "folder", "--root", "photos"},
      {"embed", "--model", none, "--images", "photos", "--out", "e"},
      {"embed", "--model", "small.safetensors", "--images", none, "--out", "e"},
      {"calibrate", "--model", none, "--dataset", "folder", "--root", "photos", "--out", "c"},
      {"weights", "info", none},
      {"weights", "import", none, "--out", "w.safetensors"},
      {"explain", none, file(0), "--model", "small.safetensors", "--out", "x.html"},
      {"explain-eval", "--model", "small.safetensors", "--dataset", "critters", "--root", none},
      {"train", "--dataset", "folder", "--root", none, "--loss", "margin", "--out", "run"},
      {"train", "--config", none},
      {"experiments", "run", none, "--dataset", "folder", "--root", "photos"},
      {"index", "build", "g", "--model", "small.safetensors", "--images", none},
      {"index", "add", none, "--images", "photos"},
      {"index", "sync", none, "photos"},
      {"index", "remove", none, "--ids", "1"},
      {"index", "info", none},
      {"index", "verify", none},
      {"index", "export", none, "--out", "out"},
      {"index", "cache", none},
      {"index", "backup", none, "b"},
      {"index", "restore", none, "b"},
      {"index", "compact", none},
      {"index", "salvage", none, "b"},
      {"search", none, "--id", "1"},
      {"serve", none},
      {"serve", "g", "--token-file", none},
      {"bench", "gallery", none},
  };
  for (const Arguments& call : calls) {
    SCOPED_TRACE(call[0] + " " + call[1]);
    const ProgramResult result = run(call);
    EXPECT_TRUE(result.exit_code == 1 || result.exit_code == 2) << result.exit_code;
    EXPECT_EQ(lines_of(result.err), 1u) << result.err;
    EXPECT_TRUE(is_clean(result.err)) << result.err;
    EXPECT_TRUE(is_clean(result.out)) << result.out;
  }
}

}  // namespace
}  // namespace diml::test
