#include "base/sha256.h"

#include <string>

#include <gtest/gtest.h>

#include "base/temporary_folder.h"
#include "diml/error.h"

namespace diml {
namespace {

std::span<const std::uint8_t> bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string hash(const std::string& text) {
  Sha256 sha;
  sha.update(bytes(text));
  return sha.hex();
}

// The examples of FIPS 180-4, and a million letters.
TEST(Sha256, AgreesWithTheStandard) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesCome) {
  std::string text;
  for (int k = 0; k < 300; ++k) text += static_cast<char>(k * 7);
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const std::string whole = text.substr(0, length);
    Sha256 sha;
    for (std::size_t at = 0, step = 1; at < length; at += step, step = step % 97 + 13) {
      sha.update(bytes(whole.substr(at, step)));
    }
    ASSERT_EQ(sha.hex(), hash(whole)) << length;
  }
}

TEST(Sha256, CanBeAskedInBetween) {
  Sha256 sha;
  sha.update(bytes("a"));
  EXPECT_EQ(sha.hex(), hash("a"));
  sha.update(bytes("bc"));
  EXPECT_EQ(sha.hex(), hash("abc"));
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const test::TemporaryFolder folder;
  const std::string content(3'000'000, 'x');
  test::write_bytes(folder / "file", content);
  EXPECT_EQ(sha256_of_file(folder / "file"), hash(content));
  EXPECT_THROW(sha256_of_file(folder / "missing"), Error);
  EXPECT_THROW(sha256_of_file(folder.path()), Error);
}

}  // namespace
}  // namespace diml
