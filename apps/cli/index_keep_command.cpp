#include <cstdio>

#include "base/shown_text.h"
#include "diml/gallery.h"
#include "gallery_command.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

struct Options {
  std::string from;
  std::string to;
  std::string json;
};

std::shared_ptr<Options> defined(CLI::App& command, const char* from, const char* to,
                                 const char* example) {
  auto options = std::make_shared<Options>();
  command.add_option(from, options->from, "The folder that is read")->required();
  if (to != nullptr) {
    command.add_option(to, options->to, "The folder that is written")->required();
  }
  command.add_option("--json", options->json, "For programs; - for standard output");
  command.footer(std::string("Example:\n  ") + example);
  return options;
}

Json json_of(const GalleryCopy& copy, const std::string& folder) {
  return {{"gallery", folder},
          {"items", copy.items},
          {"revision", copy.revision},
          {"bytes", copy.bytes}};
}

std::string text_of(const GalleryCopy& copy) {
  return std::to_string(copy.items) + " images, revision " + std::to_string(copy.revision) + ", " +
         size_text(copy.bytes);
}

void run_backup(const Options& options) {
  JsonOutput output(options.json);
  const GalleryCopy copy = back_up_gallery(options.from, options.to, progress_bar("backup"));
  output.write(json_of(copy, options.to));
  if (output.takes_standard_output()) return;
  std::printf("%s: %s, verified\n", shown(options.to).c_str(), text_of(copy).c_str());
}

void run_restore(const Options& options) {
  JsonOutput output(options.json);
  const GalleryCopy copy = restore_gallery(options.from, options.to, progress_bar("restore"));
  Json json = json_of(copy, options.to);
  json["replaced"] = copy.replaced.empty() ? Json() : Json(copy.replaced);
  output.write(json);
  if (output.takes_standard_output()) return;
  std::printf("%s: %s, verified\n", shown(options.to).c_str(), text_of(copy).c_str());
  if (!copy.replaced.empty()) {
    std::printf("what was there before is in %s now\n", shown(copy.replaced).c_str());
  }
}

void run_compact(const Options& options) {
  JsonOutput output(options.json);
  const std::uint64_t before = open_gallery(options.from)->space().used;
  const GalleryCopy copy = compact_gallery(options.from, progress_bar("compact"));
  Json json = json_of(copy, options.from);
  json["bytes_before"] = before;
  output.write(json);
  if (output.takes_standard_output()) return;
  std::printf("%s: %s, before %s\n", shown(options.from).c_str(), text_of(copy).c_str(),
              size_text(before).c_str());
}

void run_salvage(const Options& options) {
  JsonOutput output(options.json);
  const Salvage found = salvage_gallery(options.from, options.to, progress_bar("salvage"));
  Json json = {{"gallery", options.to},
               {"items", found.items},
               {"items_before", found.items_before ? Json(*found.items_before) : Json()},
               {"damaged", found.damaged},
               {"unsure", found.unsure},
               {"pages", found.pages},
               {"damaged_pages", found.damaged_pages}};
  output.write(json);
  if (output.takes_standard_output()) return;
  std::printf("%s: %zu images", shown(options.to).c_str(), found.items);
  if (found.items_before) {
    std::printf(" of %zu", *found.items_before);
  } else {
    std::printf("; how many there were cannot be read any more");
  }
  std::printf("\n");
  if (found.damaged + found.damaged_pages > 0) {
    std::printf(
        "lost       %zu images of which something is damaged; %zu of %zu pages cannot be "
        "read, and with them perhaps others\n",
        found.damaged, found.damaged_pages, found.pages);
  }
  if (found.unsure > 0) {
    std::printf(
        "unsure     %zu images were found outside of the file's trees: some of them may have been "
        "removed or changed before\n",
        found.unsure);
  }
}

}  // namespace

void define_index_backup(CLI::App& command, Run& chosen) {
  const auto options =
      defined(command, "gallery", "to", "diml index backup photos.gallery backups/2026-11-19");
  command.callback([options, &chosen] { chosen = [options] { run_backup(*options); }; });
}

void define_index_restore(CLI::App& command, Run& chosen) {
  const auto options =
      defined(command, "backup", "gallery", "diml index restore backups/2026-11-19 photos.gallery");
  command.callback([options, &chosen] { chosen = [options] { run_restore(*options); }; });
}

void define_index_compact(CLI::App& command, Run& chosen) {
  const auto options = defined(command, "gallery", nullptr, "diml index compact photos.gallery");
  command.callback([options, &chosen] { chosen = [options] { run_compact(*options); }; });
}

void define_index_salvage(CLI::App& command, Run& chosen) {
  const auto options =
      defined(command, "gallery", "to", "diml index salvage photos.gallery whole.gallery");
  command.callback([options, &chosen] { chosen = [options] { run_salvage(*options); }; });
}

}  // namespace diml::cli
