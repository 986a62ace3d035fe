#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace diml {

// A kind of picture: the one list of them, for names in folders and for messages about contents.
struct ImageFormat {
  std::string_view name;       // "GIF"
  std::string_view a_name;     // "a GIF", as messages say it
  std::string_view endings;    // of its files, each with its dot, separated by spaces
  bool readable = false;       // by this build
  std::string_view package{};  // what a build needs that reads it; "" where no build does
};

std::span<const ImageFormat> image_formats();

// Throws where the list has no such name.
const ImageFormat& image_format(std::string_view name);

// By the ending of the name, in any case; null where it is no picture's.
const ImageFormat* image_format_named(const std::string& path);

// ".jpg": the ending of a name, in small letters.
std::string lower_case_ending(const std::string& path);

// Files that a folder of photos is made of, by their names.
bool is_image_name(const std::string& path);

// Pictures that this build cannot read: they are left out of a folder, and counted.
bool is_unreadable_image_name(const std::string& path);

// "JPEG, PNG or GIF": what this build reads.
std::string readable_image_formats();

// Pictures that were left out, by their endings: {".cr2": 2}.
using UnreadableImages = std::map<std::string, std::size_t>;

// "3 pictures are left out: 2 .cr2 and 1 .jxl cannot be read, convert them to .jpg or .png"; ""
// where there are none.
std::string text_of(const UnreadableImages& left_out);

}  // namespace diml
