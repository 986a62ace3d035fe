#include "failure.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/system_error.h"

namespace diml::cli {
namespace {

struct Flag {
  std::string_view parameter;  // as the library calls it
  const char* flag;
  const char* hint;
};

// Parameters whose hint is more than the parameter's name with dashes.
constexpr std::array kFlags = {
    Flag{"force", "--force", "--force removes them"},
    Flag{"ids", "--id", "--id 17, or --embeddings PREFIX"},
    Flag{"layout", "--layout", "--layout nchw"},
    Flag{"duplicates", "--replace", "--replace replaces it"},
    Flag{"matcher", "--matcher", "--matcher cpu"},
    Flag{"model", "--model", "--model names its file"},
    Flag{"out", "--out", "--out RUN"},
    Flag{"read_only", "--read-only", "--read-only serves it as it is"},
    Flag{"resume", "--resume", "--resume continues it"},
    Flag{"skip_bad", "--skip-bad", "--skip-bad skips it"},
    Flag{"skip_bad_resume", "--resume", "--skip-bad --resume skips it and goes on"},
    Flag{"storage", "--storage", "--storage float16 needs half of it"},
};

// Calls of the library, and the commands that make them.
constexpr std::array kCommands = {
    std::pair{"build_index", "'diml index cache' does"},
    std::pair{"calibrate", "'diml calibrate' does"},
    std::pair{"copy_gallery", "'diml index copy' does"},
    std::pair{"create_gallery", "'diml index build' does"},
    std::pair{"fetch_model", "'diml weights get resnet50' does"},
    std::pair{"import_model", "'diml weights import' does"},
    std::pair{"list_items", "'diml index list' does"},
    std::pair{"make_own_index", "'diml index cache --kind pgvector' does"},
    std::pair{"run_experiments", "'diml experiments run' does"},
    std::pair{"salvage", "'diml index restore' and 'diml index salvage' do"},
    std::pair{"verify", "'diml index verify' does"},
};

// "diml index build": the innermost one was named last.
const CLI::App& innermost(const CLI::App& command) {
  const auto chosen = command.get_subcommands();
  return chosen.empty() ? command : innermost(*chosen.front());
}

}  // namespace

const char* const kExitCodes =
    "Exit codes: 0 success; 1 failure, with the reason in one line on standard error; 2 the "
    "command line is wrong; 70 a bug of diml.";

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorKind::out_of_resources, "out of memory: use fewer images at a time", "storage"};
  } catch (const std::filesystem::filesystem_error& error) {
    return system_error(error.path1().string() + ": cannot be used", error.code());
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      return {ErrorKind::out_of_resources,
              "the system starts no more threads: allow this user more of them"};
    }
    return {kind_of_errno(error.code().value()), error.what()};
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return {ErrorKind::internal, "unexpected error: " + text.substr(0, text.find('\n'))};
  }
}

Error with_flag(const Error& error, const CLI::App& command) {
  const std::string_view parameter = error.parameter();
  if (parameter.empty()) return error;
  for (const auto& [call, command_does] : kCommands) {
    if (parameter == call) return with_context(error, "", std::string(" (") + command_does + ")");
  }
  std::string flag = "--" + std::string(parameter);
  std::replace(flag.begin(), flag.end(), '_', '-');
  std::string hint = flag;
  for (const Flag& known : kFlags) {
    if (known.parameter != parameter) continue;
    flag = known.flag;
    hint = known.hint;
  }
  if (innermost(command).get_option_no_throw(flag) == nullptr) return error;
  return with_context(error, "", " (" + hint + ")");
}

Error with_work_kept(const Error& error, const std::string& kept) {
  const std::string_view parameter = error.parameter();
  const char* remedy = error.parameter();
  if (parameter.empty()) remedy = "resume";
  if (parameter == "skip_bad") remedy = "skip_bad_resume";  // neither would do alone
  return {error.kind(), error.what() + ("; " + kept), remedy};
}

int exit_code_of(ErrorKind kind) {
  constexpr int kMistakeOfDiml = 70;  // EX_SOFTWARE of sysexits.h
  return kind == ErrorKind::internal ? kMistakeOfDiml : 1;
}

}  // namespace diml::cli
