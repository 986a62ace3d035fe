#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "explain/text_ruler.h"

namespace diml::test {

struct TextBox {
  double left;
  double right;
  double top;
  double bottom;
  std::string text;
};

// Where the <text> elements of a figure lie: from just above the small letters to the baseline.
inline std::vector<TextBox> text_boxes(const std::string& svg) {
  std::vector<TextBox> boxes;
  const explained::TextRuler ruler;
  for (std::size_t at = svg.find("<text "); at != std::string::npos;
       at = svg.find("<text ", at + 1)) {
    const std::string element = svg.substr(at, svg.find("</text>", at) - at);
    const auto value = [&](const std::string& name) {
      const std::size_t begin = element.find(" " + name + "=\"") + name.size() + 3;
      return element.substr(begin, element.find('"', begin) - begin);
    };
    std::string text;
    bool inside = false;
    for (const char c : element) {
      if (c == '<' || c == '>') {
        inside = c == '>';
      } else if (inside) {
        text += c;
      }
    }
    const double size = std::stod(value("font-size"));
    const bool bold = element.find("font-weight") != std::string::npos;
    const double width = ruler.width(text, {size, {}, explained::Align::left, bold});
    const std::string anchor = value("text-anchor");
    const double x = std::stod(value("x"));
    const double left = anchor == "start" ? x : anchor == "middle" ? x - width / 2.0 : x - width;
    const double y = std::stod(value("y"));
    boxes.push_back({left, left + width, y - 0.72 * size, y, text});
  }
  return boxes;
}

// Expects that no two overlap and all lie between 0 and `width`.
inline void expect_apart(const std::vector<TextBox>& boxes, double width,
                         const std::string& where) {
  EXPECT_GT(boxes.size(), 3u) << where;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const TextBox& one = boxes[i];
    EXPECT_GE(one.left, 0.0) << where << ": " << one.text;
    EXPECT_LE(one.right, width) << where << ": " << one.text;
    for (std::size_t j = 0; j < i; ++j) {
      const TextBox& two = boxes[j];
      const bool apart = one.left >= two.right || two.left >= one.right || one.top >= two.bottom ||
                         two.top >= one.bottom;
      EXPECT_TRUE(apart) << where << ": '" << one.text << "' and '" << two.text << "'";
    }
  }
}

}  // namespace diml::test
