#include "base/label_words.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/npy.h"
#include "base/temporary_folder.h"

namespace diml::test {
namespace {

using Words = std::vector<std::string>;

TEST(LabelWords, NumbersAreWordsAndMinusOneIsNone) {
  EXPECT_EQ(label_word(17), "17");
  EXPECT_EQ(label_word(-1), "");
  EXPECT_EQ(label_number("17"), 17);
  EXPECT_EQ(label_number(""), -1);
  for (const char* word : {"017", "-1", "pug", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(label_number(word).has_value()) << word;
  }
}

TEST(LabelWords, AreOrderedForPeople) {
  Words words = {"pug", "10", "", "2", "beagle"};
  std::sort(words.begin(), words.end(), LabelOrder());
  EXPECT_EQ(words, (Words{"", "2", "10", "beagle", "pug"}));
}

TEST(LabelWords, AreWrittenAsNumbersWhereAllOfThemAre) {
  const TemporaryFolder folder;
  write_labels(folder / "n.npy", Words{"3", "", "12"});
  const NpyFile numbers(folder / "n.npy");
  std::vector<std::int64_t> values(3);
  numbers.read_int64s(0, values);
  EXPECT_EQ(values, (std::vector<std::int64_t>{3, -1, 12}));
}

TEST(LabelWords, AreWrittenAsUnicode) {
  const TemporaryFolder folder;
  const Words given = {"3", "", "m\xC3\xB6ps", "\xF0\x9F\x90\xB6\xE7\x8B\x97", "bad \xff"};
  write_labels(folder / "w.npy", given);
  const NpyFile file(folder / "w.npy");
  EXPECT_EQ(file.type(), ArrayType::text);
  Words words(given.size());
  file.read_texts(0, words);
  EXPECT_EQ(words, (Words{"3", "", given[2], given[3], "bad \xEF\xBF\xBD"}));
}

}  // namespace
}  // namespace diml::test
