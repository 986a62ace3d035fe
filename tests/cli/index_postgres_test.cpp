// The commands on a gallery in PostgreSQL.

#include <signal.h>
#include <unistd.h>

#include "cli/gallery_files.h"
#include "diml/error.h"
#include "diml/searcher.h"
#include "postgres/server.h"

namespace diml::test {
namespace {

using Json = nlohmann::json;

class IndexPostgres : public GalleryFiles {
 protected:
  static constexpr std::size_t kMany = 1500;
  IndexPostgres() : GalleryFiles(kMany) {}

  void SetUp() override {
    const std::string& path = folder_.path();
    name_ = path.substr(path.find_last_of('/') + 1);
    const auto found = gallery_in_postgres(name_);
    if (!found) GTEST_SKIP() << kNoPostgres;
    // The server trusts everybody: the password has no other use than to be hidden.
    address_ = *found + "&password=" + kPassword;
    shown_ = *found;
  }

  // No word of a program may have the password in it.
  ProgramResult ran(const Arguments& arguments, const ProgramSettings& settings = {}) const {
    ProgramResult result = run(arguments, settings);
    EXPECT_EQ((result.out + result.err).find(kPassword), std::string::npos)
        << result.out << result.err;
    return result;
  }
  std::string ran_well(const Arguments& arguments, const ProgramSettings& settings = {}) const {
    const ProgramResult result = ran(arguments, settings);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  Json told(const Arguments& arguments) const {
    return Json::parse(ran_well(joined(arguments, {"--json", "-"})));
  }
  // Ids and scores, without the times.
  Json hits(const std::string& gallery, const Arguments& more = {}) const {
    return told(joined({"search", gallery, "--embeddings", "c", "--top", "7"}, more)).at("queries");
  }

  static constexpr const char* kPassword = "hunter2";
  std::string name_;
  std::string address_;
  std::string shown_;
};

TEST_F(IndexPostgres, EachCommandDoesWhatItDoesOnAFolder) {
  const Json built = told({"index", "build", address_, "--embeddings", "c"});
  EXPECT_EQ(built.at("items"), kMany);
  run_well({"index", "build", "g", "--embeddings", "c"});
  EXPECT_EQ(hits(address_), hits("g"));
  EXPECT_EQ(hits(address_, {"--where", "label in 3,4"}), hits("g", {"--where", "label in 3,4"}));
  const Json info = told({"index", "info", address_});
  EXPECT_EQ(info.at("gallery"), shown_);
  EXPECT_EQ(info.at("items"), kMany);
  EXPECT_EQ(info.at("labels"), told({"index", "info", "g"}).at("labels"));
  EXPECT_EQ(info.at("index"), nullptr);
  ran_well({"index", "info", address_});
  EXPECT_EQ(told({"index", "remove", address_, "--ids", "3,17"}).at("items"), kMany - 2);
  EXPECT_EQ(told({"index", "add", address_, "--embeddings", "c"}).at("added"), 2);
  EXPECT_EQ(told({"index", "add", address_, "--embeddings", "c"}).at("added"), 0);
  run_well({"index", "remove", "g", "--ids", "3,17"});
  run_well({"index", "add", "g", "--embeddings", "c"});
  EXPECT_EQ(exported(address_), exported("g"));
  EXPECT_EQ(told({"index", "verify", address_}).at("items"), kMany);
  ran_well({"explain", "--gallery", address_, "4", "5", "--out", "why.json"}, {});
  const ProgramResult again = ran({"index", "build", address_, "--embeddings", "c"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_NE(again.err.find(shown_ + ": is already a gallery"), std::string::npos) << again.err;
  EXPECT_EQ(told({"index", "build", address_, "--resume", "--embeddings", "c"}).at("added"), 0);
}

TEST_F(IndexPostgres, ACommandForFoldersSaysSo) {
  ran_well({"index", "build", address_, "--embeddings", "c"});
  run_well({"index", "build", "g", "--embeddings", "c"});
  for (const Arguments& arguments :
       std::vector<Arguments>{{"index", "backup", address_, "b"},
                              {"index", "backup", "g", address_},
                              {"index", "restore", "g", address_},
                              {"index", "compact", address_},
                              {"index", "salvage", address_, "b"},
                              {"index", "salvage", "g", address_},
                              {"index", "cache", address_, "--kind", "hnsw"}}) {
    const ProgramResult result = ran(arguments);
    EXPECT_EQ(result.exit_code, 1) << arguments[1];
    EXPECT_NE(result.err.find(shown_ + ": "), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
  const std::vector<std::string> names = folder_.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "postgres:"), 0);
}

TEST_F(IndexPostgres, WhatIsWrongIsSaidInOneLineWithoutThePassword) {
  const auto refused = [&](const std::string& address, const std::string& why) {
    for (const Arguments& arguments : std::vector<Arguments>{
             {"index", "info", address}, {"search", address, "--id", "1"}, {"serve", address}}) {
      const ProgramResult result = ran(arguments);
      EXPECT_EQ(result.exit_code, 1);
      EXPECT_NE(result.err.find(why), std::string::npos) << result.err;
      EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
    }
  };
  refused(address_, shown_ + ": there is no gallery: create one ('diml index build' does)");
  refused("postgres://ann:hunter2@/shop/g?host=/nowhere",
          "postgres://ann@/shop/g?host=/nowhere: cannot");
  refused("postgres://ann:hunter2@db", "names no gallery");
  std::string other = address_;
  refused(other.replace(other.find("/tests/"), 7, "/none/"), "database \"none\" does not exist");
}

TEST_F(IndexPostgres, TheEnvironmentAndAServiceFileSayWhereItIs) {
  ran_well({"index", "build", address_, "--embeddings", "c"});
  const std::string host = shown_.substr(shown_.find("host=") + 5);
  const auto items = [&](const std::string& address, const std::vector<std::string>& environment) {
    return Json::parse(
               ran_well({"index", "info", address, "--json", "-"}, {.environment = environment}))
        .at("items");
  };
  EXPECT_EQ(items("postgres:///tests/" + name_, {"PGHOST=" + host, "PGUSER=diml"}), kMany);
  EXPECT_EQ(items("postgres:////" + name_, {"PGHOST=" + host, "PGUSER=diml", "PGDATABASE=tests"}),
            kMany);
  write_bytes(at("services"),
              "[shop]\nhost=" + host + "\nuser=diml\ndbname=tests\npassword=hunter2\n");
  EXPECT_EQ(items("postgresql:////" + name_ + "?service=shop", {"PGSERVICEFILE=" + at("services")}),
            kMany);
  EXPECT_EQ(items("postgresql:////" + name_, {"PGSERVICEFILE=" + at("services"), "PGSERVICE=shop"}),
            kMany);
  const ProgramResult wrong =
      ran({"index", "info", "postgres:////" + name_ + "?service=none"},
          {.environment = {"PGSERVICEFILE=" + at("services"), "PGPASSWORD=hunter2"}});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_EQ(wrong.err.find('\n'), wrong.err.size() - 1) << wrong.err;
}

TEST_F(IndexPostgres, ManyGalleriesInADatabaseKnowNothingOfEachOther) {
  const auto named = [&](const std::string& name) {
    std::string address = address_;
    return address.insert(address.find('?'), name);
  };
  for (const char* name : {"%20a", "'; --", "\"", "%C3%A9"}) {
    ran_well({"index", "build", named(name), "--embeddings", "c"});
  }
  ran_well({"index", "remove", named("\""), "--ids", "0,1,2"});
  EXPECT_EQ(told({"index", "info", named("\"")}).at("items"), kMany - 3);
  EXPECT_EQ(told({"index", "info", named("%20a")}).at("items"), kMany);
  EXPECT_EQ(told({"index", "info", named("'; --")}).at("items"), kMany);
}

TEST_F(IndexPostgres, CopiesThereAndBackScoreTheSame) {
  run_well({"generate", "--images", "50", "--classes", "8", "--grid", "2", "--dim", "16", "--seed",
            "5", "--out", "more"});
  run_well({"index", "build", "g", "--embeddings", "c"});
  run_well({"index", "remove", "g", "--ids", "3,17"});
  run_well({"index", "add", "g", "--embeddings", "more"});
  const Json there = told({"index", "copy", "g", address_});
  EXPECT_EQ(there.at("from"), "g");
  EXPECT_EQ(there.at("to"), shown_);
  EXPECT_EQ(there.at("copied"), kMany + 48);
  const Json back = told({"index", "copy", address_, "h"});
  EXPECT_EQ(back.at("copied"), kMany + 48);
  EXPECT_EQ(exported("g"), exported(address_));
  EXPECT_EQ(exported("g"), exported("h"));
  // Ids count anew; paths and scores are the same.
  const auto without_ids = [](Json queries) {
    for (Json& query : queries) {
      for (Json& hit : query.at("hits")) hit.erase("id");
    }
    return queries;
  };
  EXPECT_EQ(without_ids(hits("g")), without_ids(hits(address_)));
  EXPECT_EQ(hits(address_), hits("h"));
  EXPECT_EQ(told({"index", "copy", "g", address_}).at("copied"), 0);
  const ProgramResult said = ran({"index", "copy", "g", "i"});
  EXPECT_NE(said.err.find("the ids of the copy count from 0"), std::string::npos) << said.err;
  ran_well({"index", "remove", address_, "--ids", "9"});
  const ProgramResult other = ran({"index", "copy", "g", address_});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.err.find("is not the beginning of a copy of g"), std::string::npos) << other.err;
}

TEST_F(IndexPostgres, ACopyThatWasKilledGoesOn) {
  run_well({"generate", "--images", "12000", "--classes", "8", "--grid", "2", "--dim", "16",
            "--seed", "9", "--out", "many"});
  run_well({"index", "build", "g", "--embeddings", "many"});
  const auto copied = [&]() -> std::size_t {
    try {
      return open_gallery(address_)->snapshot()->size();
    } catch (const Error&) {
      return 0;
    }
  };
  std::size_t kept = 0;
  for (int kill = 0; kill < 3; ++kill) {
    const ProgramResult result =
        ran({"index", "copy", "g", address_}, {.meanwhile = [&](int process) {
              while (copied() <= kept && ::kill(process, 0) == 0) ::usleep(500);
              ::kill(process, SIGKILL);
            }});
    kept = copied();
    EXPECT_EQ(kept % 512, 0U);
    ASSERT_EQ(result.exit_code, 128 + SIGKILL) << "it was not fast enough to be killed";
  }
  const Json rest = told({"index", "copy", "g", address_});
  EXPECT_EQ(rest.at("known"), kept);
  EXPECT_EQ(rest.at("copied"), 12000 - kept);
  EXPECT_EQ(exported("g"), exported(address_));
  ran_well({"index", "verify", address_});
}

}  // namespace
}  // namespace diml::test
