#include <cstdio>

#include "base/shown_text.h"
#include "diml/error.h"
#include "gallery/sharding.h"
#include "gallery_command.h"
#include "options.h"

namespace diml::cli {
namespace {

struct ShardCommand {
  std::string gallery;
  std::string like;
  std::vector<std::string> over;
  std::string json;

  void run() const {
    JsonOutput output(json);
    const bool is_new = !gallery_exists(gallery);
    if (is_new) {
      if (like.empty()) {
        throw Error(
            ErrorKind::not_found,
            shown_gallery(gallery) +
                ": there is no gallery: --like GALLERY makes an empty one of the same kind");
      }
      create_gallery(gallery, open_gallery(like)->format());
    }
    try {
      diml::gallery::shard(gallery, over);
    } catch (...) {
      if (is_new) remove_empty_gallery(gallery);
      throw;
    }
    output.write({{"gallery", shown_gallery(gallery)}, {"shards", over.size()}});
    if (output.takes_standard_output()) return;
    std::printf(
        "%s: its images will lie in %zu databases; 'diml index copy' or 'diml index add' fills "
        "it\n",
        shown(shown_gallery(gallery)).c_str(), over.size());
  }
};

}  // namespace

void define_index_shard(CLI::App& command, Run& chosen) {
  auto options = std::make_shared<ShardCommand>();
  command.add_option("gallery", options->gallery, kGalleryHelp)->required();
  command
      .add_option("--over", options->over,
                  "postgres://USER@HOST:PORT/DATABASE of a shard, as the gallery's server reaches "
                  "it; give it for each")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--like", options->like,
                     "A gallery whose kind of grids a new one is to have, such as the one to copy");
  command.add_option("--json", options->json, "For programs; - for standard output");
  command.footer(
      "Example:\n  diml index shard postgres://ann@db/shop/photos --like photos.gallery \\\n"
      "    --over postgres://diml@db1/photos --over postgres://diml@db2/photos");
  command.callback([options, &chosen] { chosen = [options] { options->run(); }; });
}

}  // namespace diml::cli
