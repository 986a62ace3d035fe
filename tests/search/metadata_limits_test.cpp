// One check for every way into a store.
#include <gtest/gtest.h>

#include "base/refusal.h"
#include "item_metadata.h"
#include "search/stores.h"

namespace diml {
namespace {

std::string names(std::size_t count) {
  std::string text = "{";
  for (std::size_t k = 0; k < count; ++k) {
    text += (k > 0 ? ",\"k" : "\"k") + std::to_string(k) + "\":1";
  }
  return text + "}";
}

class MetadataLimits : public test::WithStore {};
INSTANTIATE_TEST_SUITE_P(Kinds, MetadataLimits, testing::ValuesIn(test::store_kinds()),
                         test::name_of_kind);

TEST_P(MetadataLimits, ItemsThatBreakThemAreNotStored) {
  const std::string large = "{\"a\":[\"" + std::string(16'000, 'x') + "\",\"" +
                            std::string(16'000, 'x') + "\",\"" + std::string(16'000, 'x') +
                            "\",\"" + std::string(16'000, 'x') + "\",\"" +
                            std::string(16'000, 'x') + "\"]}";
  const std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  const GridView one = grid(0);
  const std::vector<NewItem> sound = {{.path = "sound", .metadata = names(1024)}};
  const std::int64_t id = store_->add(sound, set_of({&one, 1}), Duplicates::refuse).front();
  const std::string stored = store_->snapshot()->item(id).metadata;
  const std::size_t before = store_->snapshot()->size();
  for (const auto& [text, why, kind] : std::vector<std::tuple<std::string, std::string, ErrorKind>>{
           {names(1025), "its metadata has more than 1024 names",
            ErrorKind::bad_input},
           {deep, "bytes, at most 65536 are allowed", ErrorKind::out_of_resources},
           {deep.substr(0, 60'000), "is nested deeper than 16 levels", ErrorKind::bad_input},
           {large, "bytes, at most 65536 are allowed", ErrorKind::out_of_resources},
           {"[1]", "is not a JSON object", ErrorKind::bad_input}}) {
    const std::vector<NewItem> items = {{.path = "new", .metadata = text}};
    test::expect_refused(
        [&] {
          store_->add(items, set_of({&one, 1}), Duplicates::refuse);
        },
        "new: its metadata", kind);
    const ItemUpdate update{.id = id, .metadata = text};
    test::expect_refused([&] { store_->update({&update, 1}); }, why, kind);
  }
  EXPECT_EQ(store_->snapshot()->size(), before);
  EXPECT_EQ(store_->snapshot()->item(id).metadata, stored);
}

}  // namespace
}  // namespace diml
