#include <filesystem>
#include <iostream>

#include "base/shown_text.h"
#include "command.h"
#include "critters/critters.h"
#include "diml/error.h"
#include "progress_bar.h"

namespace diml::cli {

Run define_critters(CLI::App& command) {
  struct Options {
    CrittersParams params;
    std::string out;
  };
  auto options = std::make_shared<Options>();
  CrittersParams& params = options->params;
  command.add_option("--out", options->out, "Folder for the pictures and their annotations")
      ->required();
  command
      .add_option("--classes", params.classes, "How many classes; the first half is for training")
      ->check(CLI::PositiveNumber);
  command.add_option("--images-per-class", params.images_per_class, "How many pictures of each")
      ->check(CLI::PositiveNumber);
  command.add_option("--size", params.size, "Pixels per side")->check(CLI::Range(16, 4096));
  command.add_option("--seed", params.seed, "Another seed draws other critters");
  return [options] {
    // Pictures of an earlier set would stay between the new ones, some in the folder of another
    // class.
    if (std::filesystem::exists(options->out + "/images.txt")) {
      throw Error(ErrorKind::conflict,
                  options->out + ": holds a data set already: remove it, or name another folder");
    }
    write_critters(options->out, options->params, progress_bar("draw"));
    std::cout << options->params.classes * options->params.images_per_class << " pictures of "
              << options->params.classes << " classes in " << shown(options->out) << "\n";
  };
}

}  // namespace diml::cli
