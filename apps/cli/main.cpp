#include <array>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "command.h"
#include "diml/error.h"
#include "diml/version.h"
#include "failure.h"

namespace diml::cli {
namespace {

constexpr std::array kCommands = {
    Command{"match", "Structural similarity of pairs of grids",
            "diml match --cells C.npy --globals V.npy --pairs P.npy --out S.npy", define_match},
    Command{"evaluate",
            "P@1, R-Precision, MAP@R of a labelled set, with and without structural re-ranking",
            "diml evaluate --cells C.npy --globals V.npy --labels L.npy --rerank 0,100",
            define_evaluate},
#if DIML_HAS_NETWORKS
    Command{"embed", "Photos to grids, on disk",
            "diml embed --model resnet50 --dataset cub200 --root CUB_200_2011 --out cub",
            define_embed},
    Command{"weights", "Fetch, import and look at trained networks", "diml weights get resnet50",
            define_weights},
    Command{"explain", "Why two images are similar: part by part, with numbers that add up",
            "diml explain a.jpg b.jpg --model resnet50 --no-projection --grid 7 --out why.html",
            define_explain},
    Command{
        "explain-eval", "Whether explanations tell the truth, by people's annotations of parts",
        "diml explain-eval --dataset cub200 --root CUB_200_2011 --model resnet50 --no-projection",
        define_explain_eval},
#endif
#if DIML_HAS_TRAINING
    Command{
        "train", "Train a network, with structural matching in any loss",
        "diml train --dataset critters --root critters --loss margin --measure blended --out run",
        define_train},
#endif
#if DIML_HAS_EXPERIMENTS
    Command{"experiments", "The paper's tables: train, evaluate, report",
            "diml experiments run experiments/main.yaml --dataset cub200 --root CUB_200_2011 "
            "--model resnet50 --device cuda",
            define_experiments},
#endif
#if DIML_HAS_GALLERY
    Command{"index", "Galleries: photos that are there to be found",
            "diml index build photos.gallery --model resnet50 --images photos/", define_index},
    Command{"search", "What in a gallery resembles a photo",
            "diml search photos.gallery photo.jpg --top 10", define_search},
#endif
#if DIML_HAS_SERVER
    Command{"serve", "A gallery over HTTP, with a page for people", "diml serve photos.gallery",
            define_serve},
#endif
    Command{"generate", "Make grids to try things with: creatures made of parts",
            "diml generate --images 5000 --classes 100 --out creatures", define_generate},
#if DIML_HAS_DRAWING
    Command{"critters", "Draw the built-in data set: creatures made of parts, with annotations",
            "diml critters --out critters --classes 60", define_critters},
#endif
    Command{"list", "The losses, miners, samplers, backbones and data sets there are",
            "diml list losses", define_list},
    Command{"bench", "How fast this machine matches", "diml bench --grid 4 --dim 128",
            define_bench},
    Command{"doctor", "What this build has, what is missing, what the machine offers",
            "diml doctor", define_doctor},
    Command{"demo", "A tour on generated grids: evaluation, re-ranking, why two of them match",
            "diml demo", define_demo},
};

// The command that the arguments name, for messages: "diml match".
std::string command_of(int argc, char** argv) {
  for (const Command& command : kCommands) {
    if (argc > 1 && std::string_view(argv[1]) == command.name)
      return std::string("diml ") + command.name;
  }
  return "diml";
}

int parse_and_run(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-' && command_of(argc, argv) == "diml") {
    std::string known;
    for (const Command& command : kCommands)
      known += std::string(known.empty() ? "" : ", ") + command.name;
    throw CLI::ParseError(std::string("there is no command '") + argv[1] + "': " + known,
                          CLI::ExitCodes::ExtrasError);
  }
  CLI::App program{"diml: image similarity that can say why"};
  program.set_version_flag("--version", std::string("diml ") + kVersion);
  program.require_subcommand(1);
  program.footer(std::string("Each command has its own --help, with an example.\n") + kExitCodes);
  std::array<Run, kCommands.size()> runs;
  std::array<CLI::App*, kCommands.size()> apps{};
  for (std::size_t c = 0; c < kCommands.size(); ++c) {
    apps[c] = program.add_subcommand(kCommands[c].name, kCommands[c].description);
    apps[c]->footer(std::string("Example:\n  ") + kCommands[c].example);
    runs[c] = kCommands[c].define(*apps[c]);
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help, --version
    return program.exit(help);
  }
  for (std::size_t c = 0; c < kCommands.size(); ++c) {
    if (!apps[c]->parsed()) continue;
    try {
      runs[c]();
    } catch (const CLI::ParseError&) {
      throw;
    } catch (...) {
      throw with_flag(current_error(), *apps[c]);
    }
  }
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) || !std::cout) {
    throw Error(ErrorKind::out_of_resources,
                "standard output cannot be written: is the disk full?");
  }
  return 0;
}

// The one place where errors become messages and exit codes.
int run(int argc, char** argv) {
  const std::string command = command_of(argc, argv);
  try {
    return parse_and_run(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::cerr << command << ": " << error.what() << " (see " << command << " --help)\n";
    return 2;
  } catch (...) {
    const Error error = current_error();
    std::cerr << command << ": " << error.what() << "\n";
    return exit_code_of(error.kind());
  }
}

}  // namespace

JsonOutput::JsonOutput(const std::string& path) : standard_output_(path == "-") {
  if (!path.empty() && !standard_output_) file_ = std::make_unique<OutputFile>(path);
}

void JsonOutput::write(const Json& json) {
  const std::string text = json.dump(2) + "\n";
  if (standard_output_) std::fputs(text.c_str(), stdout);
  if (!file_) return;
  file_->write(text);
  file_->commit();
}

}  // namespace diml::cli

int main(int argc, char** argv) {
  try {
    return diml::cli::run(argc, argv);
  } catch (...) {  // no memory even for a message
    return 1;
  }
}
