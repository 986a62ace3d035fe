#include <cctype>
#include <cstdio>

#include "app_tree.h"
#include "base/output_file.h"
#include "base/shown_text.h"
#include "command.h"
#include "command_reference.h"
#include "diml/version.h"
#include "failure.h"

namespace diml::cli {
namespace {

// Text as troff takes it: a leading dot or quote would be a request, hyphens must stay hyphens so
// that options can be copied.
std::string roff(const std::string& text) {
  std::string made;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) made += "\\&";
    if (c == '\\') {
      made += "\\e";
    } else if (c == '-') {
      made += "\\-";
    } else if (c == '|') {
      made += "|\\:";  // a line may break between choices
    } else {
      made += c;
    }
    at_start = c == '\n';
  }
  return made;
}

// "diml-index-build"
std::string page_name(const CommandFacts& command) {
  std::string name = command.path;
  for (char& c : name) c = c == ' ' ? '-' : c;
  return name;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string entry_of(const OptionFacts& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  }
  std::string text = ".TP\n" + (names.empty() ? "\\fI" + roff(option.positional) + "\\fR" : names);
  if (!option.is_flag() && option.positional.empty()) {
    text += " \\fI" + roff(option.value_text()) + "\\fR";
  }
  text += "\n" + roff(option.description);
  if (option.required) text += " (required)";
  if (!option.default_value.empty()) text += " (default: " + roff(option.default_value) + ")";
  return text + "\n";
}

// The footer of a command is "Example:" and its lines; the program's own is plain text.
std::string footer_of(const std::string& footer) {
  constexpr std::string_view kExample = "Example:\n";
  if (footer.empty()) return "";
  if (!footer.starts_with(kExample)) return ".SH NOTES\n" + roff(footer) + "\n";
  return ".SH EXAMPLE\n.nf\n" + roff(footer.substr(kExample.size())) + "\n.fi\n";
}

std::string page_of(const CommandFacts& command, const CommandFacts* parent) {
  std::string text = ".TH " + upper(roff(page_name(command))) + " 1 \"\" \"diml " + kVersion +
                     "\" \"User Commands\"\n.ad l\n.SH NAME\n" + roff(page_name(command)) +
                     " \\- " + roff(command.description) + "\n.SH SYNOPSIS\n.B " +
                     roff(command.usage()) + "\n";
  if (!command.positionals.empty()) text += ".SH ARGUMENTS\n";
  for (const OptionFacts& one : command.positionals) text += entry_of(one);
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const CommandFacts& below : command.commands) {
    text += ".TP\n\\fB" + roff(page_name(below)) + "\\fR(1)\n" + roff(below.description) + "\n";
  }
  if (!command.options.empty()) text += ".SH OPTIONS\n";
  for (const OptionFacts& one : command.options) text += entry_of(one);
  text += footer_of(command.footer);
  if (command.path != "diml") text += ".SH EXIT STATUS\n" + roff(kExitCodes) + "\n";
  if (parent != nullptr) text += ".SH SEE ALSO\n\\fB" + roff(page_name(*parent)) + "\\fR(1)\n";
  return text;
}

std::size_t write_pages(const CommandFacts& command, const CommandFacts* parent,
                        const std::string& folder) {
  OutputFile file(folder + "/" + page_name(command) + ".1");
  file.write(page_of(command, parent));
  file.commit();
  std::size_t pages = 1;
  for (const CommandFacts& below : command.commands) {
    pages += write_pages(below, &command, folder);
  }
  return pages;
}

}  // namespace

Run define_man(CLI::App& command) {
  struct Options {
    std::string folder;
    std::string markdown;
  };
  auto options = std::make_shared<Options>();
  command.add_option("folder", options->folder, "Where the pages go; it is made if needed");
  command.add_option("--markdown", options->markdown,
                     "Write all commands into one Markdown file, instead or as well");
  return [options, program = command.get_parent()] {
    if (options->folder.empty() && options->markdown.empty()) {
      throw CLI::RequiredError("folder, or --markdown,");
    }
    const CommandFacts facts = facts_of(*program, "diml");
    if (!options->markdown.empty()) {
      OutputFile file(options->markdown);
      file.write(markdown_of(facts));
      file.commit();
    }
    if (options->folder.empty()) return;
    make_folder(options->folder);
    const std::size_t pages = write_pages(facts, nullptr, options->folder);
    std::printf("%zu manual pages in %s: 'man -M' needs them in a folder man1\n", pages,
                shown(options->folder).c_str());
  };
}

}  // namespace diml::cli
