#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>

#include "base/shown_text.h"
#include "base/stopwatch.h"
#include "base/threads.h"
#include "build_facts.h"
#include "command.h"
#include "diml/error.h"
#include "diml/version.h"
#include "engine/process_group.h"
#include "failure.h"
#include "help_text.h"
#include "messages.h"
#include "search/name_json.h"

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
    Command{
        "calibrate", "The best lambda, weight, grid and K of a model, by its training classes",
        "diml calibrate --model run/best.safetensors --dataset cub200 --root CUB_200_2011 --out "
        "calibrated.safetensors",
        define_calibrate},
    Command{"weights", "Fetch, import and inspect trained networks", "diml weights get resnet50",
            define_weights},
    Command{"explain", "Why two images are similar: part by part, with numbers that add up",
            "diml explain a.jpg b.jpg --model resnet50 --no-projection --grid 7 --out why.html",
            define_explain},
    Command{
        "explain-eval", "Evaluate explanations against annotated parts",
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
    Command{"index", "Galleries: build, extend and check collections of photos",
            "diml index build photos.gallery --model resnet50 --images photos/", define_index},
    Command{"search", "Find the images of a gallery that resemble a photo",
            "diml search photos.gallery photo.jpg --top 10", define_search},
#endif
#if DIML_HAS_SERVER
    Command{"serve", "Serve a gallery over HTTP, with a web page", "diml serve photos.gallery",
            define_serve},
#endif
    Command{"generate", "Generate grids for experiments: creatures made of parts",
            "diml generate --images 5000 --classes 100 --out creatures", define_generate},
#if DIML_HAS_DRAWING
    Command{"critters", "Draw the built-in data set: creatures made of parts, with annotations",
            "diml critters --out critters --classes 60", define_critters},
#endif
    Command{"list", "List the losses, miners, samplers, backbones and data sets",
            "diml list losses", define_list},
    Command{"bench", "How fast this machine matches", "diml bench --grid 4 --dim 128",
            define_bench},
    Command{"doctor", "What this build has, what is missing, what the machine offers",
            "diml doctor", define_doctor},
    Command{"demo", "A tour on generated grids: evaluation, re-ranking, why two of them match",
            "diml demo", define_demo},
    Command{"completion", "A script that completes commands and options in bash, zsh or fish",
            "diml completion bash > /usr/share/bash-completion/completions/diml",
            define_completion},
    Command{"man", "Write manual pages, one for each command", "diml man /usr/local/share/man/man1",
            define_man},
    Command{"help", "The help of a command", "diml help index build", define_help},
};

std::vector<std::string> told_at_end;

// The command that the arguments name, for messages: "diml match".
std::string command_of(int argc, char** argv) {
  int first = 1;  // the program's own options come before it
  while (first < argc && argv[first][0] == '-') ++first;
  for (const Command& command : kCommands) {
    if (first < argc && std::string_view(argv[first]) == command.name)
      return std::string("diml ") + command.name;
  }
  return "diml";
}

// CLI11 reads -1 as the largest number where an option takes numbers of 0 or more.
void refuse_negative_counts(CLI::App& app) {
  for (CLI::Option* option : app.get_options({})) {
    if (!option->get_type_name().starts_with("UINT")) continue;
    option->check([](const std::string& text) {
      return text.starts_with('-') ? "Value " + text + " not in range" : std::string();
    });
  }
}

// What every command has: --log-level and so on, and numbers that mean what they say.
void define_common(CLI::App& app) {
  define_messages(app);
  refuse_negative_counts(app);
  for (CLI::App* command : app.get_subcommands({})) define_common(*command);
}

// From last to first, as CLI11 wants them. It would take an argument such as "[a,b]" for a list of
// two; where that is the name of a file, another name of the file is not.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int k = argc - 1; k > 0; --k) {
    const std::string text = argv[k];
    std::error_code unknown;
    const bool is_list = text.starts_with('[') && text.ends_with(']');
    arguments.push_back(is_list && std::filesystem::exists(text, unknown) ? "./" + text : text);
  }
  return arguments;
}

void tell_start(const std::string& command) {
  if (!is_shown(LogLevel::debug)) return;
  say(LogLevel::debug, command + ": version " + kVersion + ", commit " + build_commit() + ", " +
                           std::to_string(default_threads()) + " threads");
}

void tell_end(const std::string& command, const Stopwatch& watch) {
  if (!is_shown(LogLevel::debug)) return;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  char text[96];
  std::snprintf(text, sizeof(text), ": %.2f s, %ld MB of memory at most", watch.seconds(),
                used.ru_maxrss / 1024);
  say(LogLevel::debug, command + text);
}

void expect_command(int argc, char** argv) {
  if (argc <= 1 || argv[1][0] == '-' || command_of(argc, argv) != "diml") return;
  std::vector<std::string> known;
  for (const Command& command : kCommands) known.emplace_back(command.name);
  throw CLI::ParseError(unknown_command(argv[1], known) + " (see diml --help)",
                        CLI::ExitCodes::ExtrasError);
}

// "... (see diml index build --help)"
CLI::ParseError with_help(const std::string& message, const CLI::App& program) {
  return {message + " (see " + path_of(innermost(program)) + " --help)",
          CLI::ExitCodes::InvalidError};
}

int parse_and_run(int argc, char** argv) {
  expect_command(argc, argv);
  const Stopwatch watch;
  CLI::App program{"diml: image similarity that can say why"};
  program.formatter(help_formatter());
  program.option_defaults()->always_capture_default();  // help shows them
  program.set_version_flag("--version", build_facts());
  program.require_subcommand(1);
  program.footer(
      std::string("Each command has its own --help, with an example; 'diml help COMMAND' "
                  "prints it.\n") +
      kExitCodes);
  std::array<Run, kCommands.size()> runs;
  std::array<CLI::App*, kCommands.size()> apps{};
  for (std::size_t c = 0; c < kCommands.size(); ++c) {
    apps[c] = program.add_subcommand(kCommands[c].name, kCommands[c].description);
    apps[c]->footer(std::string("Example:\n  ") + kCommands[c].example);
    runs[c] = kCommands[c].define(*apps[c]);
  }
  define_common(program);
  try {
    program.parse(arguments_of(argc, argv));
  } catch (const CLI::Success& help) {  // --help, --version
    return program.exit(help);
  } catch (const CLI::ParseError& error) {
    throw with_help(message_of(error, program), program);
  }
  const std::string command = command_of(argc, argv);
  tell_start(command);
  for (std::size_t c = 0; c < kCommands.size(); ++c) {
    if (!apps[c]->parsed()) continue;
    try {
      runs[c]();
    } catch (const CLI::ParseError& error) {
      throw with_help(error.what(), program);
    } catch (...) {
      throw with_flag(current_error(), *apps[c]);
    }
  }
  if (!told_at_end.empty() && process_place().rank == 0) {
    for (const std::string& line : told_at_end) say(LogLevel::warning, line);
  }
  tell_end(command, watch);
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
    std::cerr << command << ": " << shown_message(error.what()) << "\n";
    return 2;
  } catch (...) {
    const Error error = current_error();
    std::cerr << command << ": " << shown_message(error.what()) << "\n";
    return exit_code_of(error.kind());
  }
}

}  // namespace

void tell_at_end(const std::string& line) { told_at_end.push_back(line); }

JsonOutput::JsonOutput(const std::string& path) : standard_output_(path == "-") {
  if (!path.empty() && !standard_output_) file_ = std::make_unique<OutputFile>(path);
}

void JsonOutput::write(const Json& json) {
  const std::string text = text_of_json(json, 2) + "\n";
  if (standard_output_) std::fputs(text.c_str(), stdout);
  if (!file_) return;
  file_->write(text);
  file_->commit();
}

}  // namespace diml::cli

int main(int argc, char** argv) {
  try {
    return diml::cli::run(argc, argv);
  } catch (...) {  // not enough memory for a message
    return 1;
  }
}
