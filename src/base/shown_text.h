#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace diml {

// Names of files are bytes: any but "/" and 0. They are stored as they are; the functions here make
// text of them where somebody reads it. Without control characters, marks that change the direction
// of text, and bytes that are no UTF-8: a name must not move the cursor of a terminal, or look like
// another one.

// One name in one line, reversible: \n, \r, \t, \\ and \xE9 for such bytes, all else as it is.
std::string shown(std::string_view name);
// The name that shown() makes this of; none where the text is not of that form.
std::optional<std::string> name_of_shown(std::string_view text);

// A message in one line. As shown(), but a backslash stays as it is: messages have some of their
// own.
std::string shown_message(std::string_view message);

// A line of a list of names, such as PREFIX.paths.txt: the name itself. One with a control
// character other than a tab, or with a quote at its beginning, is "shown(name)", in quotes.
std::string line_of_name(const std::string& name);
std::string name_of_line(const std::string& line);

bool is_utf8(std::string_view text);
// The text with U+FFFD for each byte that is no UTF-8.
std::string as_utf8(std::string_view text);

}  // namespace diml
