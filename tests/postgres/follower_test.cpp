// A searcher that takes in the changes of others as soon as the server tells of them.

#include <thread>

#include "diml/searcher.h"
#include "postgres/gallery_in_postgres.h"

namespace diml::test {
namespace {

using std::chrono::milliseconds;

class Following : public GalleryInPostgres {};

TEST_F(Following, AListenerHearsOfEachChangeOfItsGallery) {
  const auto store = made();
  const auto listener = open_gallery(address_)->listen();
  ASSERT_NE(listener, nullptr);
  EXPECT_TRUE(listener->await(milliseconds(10)));  // what was before
  EXPECT_FALSE(listener->await(milliseconds(10)));
  add(*store, items(0, 3));
  EXPECT_TRUE(listener->await(milliseconds(5000)));
  store->remove(Ids{1});
  EXPECT_TRUE(listener->await(milliseconds(5000)));
  std::string other = address_;
  add(*create_gallery(other.insert(other.find('?'), "2"), format()), items(0, 3));
  EXPECT_FALSE(listener->await(milliseconds(100)));
}

TEST_F(Following, AListenerThatWasCutOffComesBack) {
  const auto store = made();
  const auto listener = open_gallery(address_ + "&application_name=" + name())->listen();
  EXPECT_TRUE(listener->await(milliseconds(10)));
  postgres::Connection connection = administrator();
  connection.ask(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1",
      postgres::Parameters().add_text(name()));
  bool is_back = false;
  for (int round = 0; round < 100 && !is_back; ++round) is_back = listener->await(milliseconds(50));
  EXPECT_TRUE(is_back);
  add(*store, items(0, 3));
  EXPECT_TRUE(listener->await(milliseconds(5000)));
}

TEST_F(Following, TheNextSearchNeedNotTakeInWhatTheServerToldOf) {
  const auto store = made();
  const auto taken_in_by_itself = [&](const Searcher& searcher, std::size_t first) {
    for (std::size_t round = 0; round < 25; ++round) {
      add(*store, items(first + round, 1));
      std::this_thread::sleep_for(milliseconds(100));
      if (!searcher.refresh()) return true;
    }
    return false;
  };
  EXPECT_TRUE(taken_in_by_itself(
      Searcher(open_gallery(address_), {.threads = 1, .take_in = TakeIn::at_once}), 0));
  const Searcher alone(open_gallery(address_), {.threads = 1});
  EXPECT_FALSE(taken_in_by_itself(alone, 1000));
}

}  // namespace
}  // namespace diml::test
