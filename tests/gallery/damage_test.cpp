// A byte of the file changes, anywhere: an error, never a signal.

#include <random>

#include <sys/wait.h>
#include <unistd.h>

#include "diml/error.h"
#include "gallery/gallery_folder.h"

namespace diml::test {
namespace {

class Damage : public GalleryFolder {
 protected:
  // In a child: opens, reads everything, verifies, writes. Returns how the child ended.
  int status_of_use() const {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        const std::shared_ptr<GridStore> store = open_gallery(folder_ / "g", StoreAccess::write);
        {
          const std::unique_ptr<GridSnapshot> snapshot = store->snapshot();
          if (!snapshot->verify().faults.empty()) ::_exit(1);
          for (const std::int64_t id : snapshot->ids()) (void)snapshot->grid(id);
        }
        store->remove(std::vector<std::int64_t>{7, 30});
        add(*store, 7, 1);
      } catch (const Error&) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
};

TEST_F(Damage, NoFlippedByteEndsAProcessBySignal) {
  {
    const std::shared_ptr<GridStore> store = filled();
    add(*store, 0, 20, Duplicates::replace);  // so there are free pages
  }
  const std::string path = folder_ / "g/data.mdb";
  const std::string whole = bytes_of(path);
  std::mt19937 random(3);
  int refused = 0;
  for (int k = 0; k < 300; ++k) {
    std::string bytes = whole;
    const std::size_t page = random() % (bytes.size() / 4096);
    const std::size_t place = k % 2 == 0 ? random() % 64 : random() % 4096;  // heads more often
    bytes[page * 4096 + place] =
        static_cast<char>(bytes[page * 4096 + place] ^ (1 << random() % 8));
    write_bytes(path, bytes);
    const int status = status_of_use();
    ASSERT_TRUE(WIFEXITED(status))
        << "page " << page << ", byte " << place << ": signal " << WTERMSIG(status);
    refused += WEXITSTATUS(status) == 0 ? 0 : 1;
  }
  EXPECT_GT(refused, 60);
}

TEST_F(Damage, APageOfTheTreeIsNamed) {
  filled();
  const std::string path = folder_ / "g/data.mdb";
  std::string bytes = bytes_of(path);
  for (std::size_t page = 2; page < bytes.size() / 4096; ++page) bytes[page * 4096 + 10] ^= 0x40;
  write_bytes(path, bytes);
  expect_refused([&] { open_gallery(folder_ / "g"); }, "data.mdb: page ", ErrorKind::damaged);
}

}  // namespace
}  // namespace diml::test
