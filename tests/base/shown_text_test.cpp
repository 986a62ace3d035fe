#include "base/shown_text.h"

#include <random>

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/input_file.h"
#include "base/temporary_folder.h"

namespace diml::test {
namespace {

TEST(ShownText, LeavesOrdinaryNamesAsTheyAre) {
  for (const char* name :
       {"a.jpg", "my photo (2).jpg", "caf\u00e9.jpg", "\u72ac/1.jpg", "'\"<&,-"}) {
    EXPECT_EQ(shown(name), name);
    EXPECT_EQ(line_of_name(std::string("x") + name), std::string("x") + name);
  }
}

TEST(ShownText, EscapesWhatMovesTheCursorOrHides) {
  EXPECT_EQ(shown("a\nb\rc\td\\e"), "a\\nb\\rc\\td\\\\e");
  EXPECT_EQ(shown("\x1b[31m\x7f"), "\\x1B[31m\\x7F");
  EXPECT_EQ(shown("caf\xe9"), "caf\\xE9");
  EXPECT_EQ(shown("\xc2\x9b"), "\\xC2\\x9B");           // CSI in one character
  EXPECT_EQ(shown("\xe2\x80\xae"), "\\xE2\\x80\\xAE");  // from right to left
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xED\\xA0\\x80");  // half a pair
  EXPECT_EQ(shown("\xc0\xaf"), "\\xC0\\xAF");           // too long
  EXPECT_EQ(shown_message("a\\n\n"), "a\\n\\n");
}

TEST(ShownText, IsReversible) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string name;
    const std::size_t length = random() % 12;
    for (std::size_t k = 0; k < length; ++k) name += static_cast<char>(random());
    ASSERT_EQ(name_of_shown(shown(name)), name);
    ASSERT_TRUE(is_utf8(shown(name)));
    ASSERT_TRUE(is_utf8(as_utf8(name)));
    ASSERT_EQ(bytes_of_base64(base64({name.begin(), name.end()})), name);
    const std::string line = line_of_name(name);
    ASSERT_EQ(line.find('\n'), std::string::npos);
    ASSERT_EQ(name_of_line(line), name) << shown(name);
  }
  for (const char* broken : {"\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x+1"}) {
    EXPECT_EQ(name_of_shown(broken), std::nullopt) << broken;
  }
}

TEST(ShownText, ListsOfEarlierVersionsKeepTheirMeaning) {
  for (const char* line : {"a.jpg", "caf\xe9.jpg", "\"a\".jpg", "\"", "\"a\\q\"", "a\\nb.jpg"}) {
    EXPECT_EQ(name_of_line(line), line);
  }
}

TEST(ShownText, NamesWithLineBreaksAreOneLineOfAList) {
  const TemporaryFolder folder;
  const std::vector<std::string> names = {"a", "b\nc", "d\r", "\"e\"", "caf\xe9", "\x1b[2J", ""};
  std::string text;
  for (const std::string& name : names) text += line_of_name(name) + "\n";
  write_bytes(folder / "list", text);
  EXPECT_EQ(read_names(folder / "list"), names);
}

TEST(Base64, RefusesEverythingElse) {
  for (const char* text :
       {"A", "AAA", "A===", "====", "AA=A", "AAAA=", "AA AA", "AA==AAAA", "?AAA"}) {
    EXPECT_EQ(bytes_of_base64(text), std::nullopt) << text;
  }
  EXPECT_EQ(bytes_of_base64(""), "");
}

}  // namespace
}  // namespace diml::test
