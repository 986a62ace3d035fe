#include "completion_scripts.h"

namespace diml::cli {
namespace {

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// In single quotes, for bash and zsh.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::vector<std::string> names_of(const std::vector<CommandFacts>& commands) {
  std::vector<std::string> names;
  for (const CommandFacts& command : commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> names_of(const std::vector<OptionFacts>& options) {
  std::vector<std::string> names;
  for (const OptionFacts& option : options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// "_diml_index_build"
std::string function_of(const CommandFacts& command) {
  return "_" + replaced(replaced(command.path, " ", "_"), "-", "_");
}

// A value, or a positional, in a specification of zsh's _arguments.
std::string zsh_value(const OptionFacts& option) {
  if (!option.choices.empty()) {
    return ":" + option.value + ":(" + joined(option.choices, " ") + ")";
  }
  return ":" + option.value + (option.value == "NUMBER" ? ": " : ":_files");
}

std::string zsh_text(const std::string& text) {
  std::string made;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') made += '\\';
    made += c;
  }
  return made;
}

std::string zsh_function(const CommandFacts& command) {
  std::string text = function_of(command) + "() {\n";
  std::string specs;
  for (const OptionFacts& option : command.options) {
    for (const std::string& name : option.names) {
      // '*': an option may be given again; _arguments would not offer it a second time.
      specs += "    " +
               quoted((option.repeated ? "*" : "") + name + "[" + zsh_text(option.description) +
                      "]" + (option.is_flag() ? "" : zsh_value(option))) +
               " \\\n";
    }
  }
  if (command.commands.empty()) {
    text += "  _arguments -s \\\n" + specs;
    for (const OptionFacts& one : command.positionals) {
      text += "    " + quoted((one.repeated ? "*" : "") + zsh_value(one)) + " \\\n";
    }
    return text + "    && return 0\n}\n";
  }
  text += "  local curcontext=\"$curcontext\" state line\n  local -a commands\n  commands=(\n";
  for (const CommandFacts& below : command.commands) {
    text += "    " + quoted(below.name + ":" + zsh_text(below.description)) + "\n";
  }
  text += "  )\n  _arguments -C \\\n" + specs + "    '1: :->command' '*:: :->rest'\n";
  text += "  case $state in\n    command) _describe -t commands command commands ;;\n";
  text += "    rest) case $words[1] in\n";
  for (const CommandFacts& below : command.commands) {
    text += "      " + below.name + ") " + function_of(below) + " ;;\n";
  }
  return text + "    esac ;;\n  esac\n}\n";
}

}  // namespace

std::string bash_completion(const CommandFacts& program) {
  std::vector<std::string> paths;
  std::string offers;
  std::string values;
  for (const CommandFacts* command : all_of(program)) {
    if (command != &program) paths.push_back(quoted(command->path));
    offers += "    " + quoted(command->path) +
              ") commands=" + quoted(joined(names_of(command->commands), " ")) +
              " options=" + quoted(joined(names_of(command->options), " ")) + " ;;\n";
    for (const OptionFacts& option : command->options) {
      if (option.is_flag()) continue;
      for (const std::string& name : option.names) {
        values +=
            "    " + quoted(command->path + " " + name) + ") " +
            (option.choices.empty() ? "return ;;\n"
                                    : "values=" + quoted(joined(option.choices, " ")) + " ;;\n");
      }
    }
  }
  return "# Completion of diml in bash: source it, or put it into\n"
         "# /usr/share/bash-completion/completions/diml. Made by 'diml completion bash'.\n"
         "_diml() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local path=diml commands= options= values= i\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case \"$path ${COMP_WORDS[i]}\" in\n      " +
         joined(paths, "|") +
         ") path=\"$path ${COMP_WORDS[i]}\" ;;\n    esac\n  done\n"
         "  # A value without a list of choices is completed as a file.\n"
         "  case \"$path $prev\" in\n" +
         values + "  esac\n  case \"$path\" in\n" + offers +
         "  esac\n"
         "  if [[ -n $values ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n"
         "  elif [[ $cur == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
         "  fi\n"
         "}\n"
         "complete -o default -F _diml diml\n";
}

std::string zsh_completion(const CommandFacts& program) {
  std::string text =
      "#compdef diml\n# Completion of diml in zsh: put it into a folder of $fpath as _diml.\n"
      "# Made by 'diml completion zsh'.\n";
  for (const CommandFacts* command : all_of(program)) text += zsh_function(*command);
  // The file is the function itself where $fpath loads it, and defines one where it is sourced.
  return text +
         "if [[ $funcstack[1] == _diml ]]; then\n  _diml \"$@\"\nelse\n"
         "  compdef _diml diml\nfi\n";
}

std::string fish_completion(const CommandFacts& program) {
  std::vector<std::string> paths;
  std::string lines;
  for (const CommandFacts* command : all_of(program)) {
    paths.push_back(fish_quoted(command->path));
    const std::string here =
        "complete -c diml -n " + fish_quoted("__diml_at " + fish_quoted(command->path));
    for (const CommandFacts& below : command->commands) {
      lines += here + " -f -a " + below.name + " -d " + fish_quoted(below.description) + "\n";
    }
    for (const OptionFacts& option : command->options) {
      lines += here;
      for (const std::string& name : option.names) {
        lines += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.choices.empty()) {
        lines += " -x -a " + fish_quoted(joined(option.choices, " "));
      } else if (!option.is_flag()) {
        lines += option.value == "NUMBER" ? " -x" : " -r";
      }
      lines += " -d " + fish_quoted(option.description) + "\n";
    }
  }
  return "# Completion of diml in fish: put it into ~/.config/fish/completions/diml.fish.\n"
         "# Made by 'diml completion fish'.\n"
         "function __diml_at\n"
         "  set -l known " +
         joined(paths, " ") +
         "\n  set -l path diml\n"
         "  for word in (commandline -opc)[2..-1]\n"
         "    if contains -- \"$path $word\" $known\n"
         "      set path \"$path $word\"\n"
         "    end\n"
         "  end\n"
         "  test \"$path\" = \"$argv[1]\"\n"
         "end\n" +
         lines;
}

}  // namespace diml::cli
