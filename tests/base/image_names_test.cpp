#include "base/image_names.h"

#include <gtest/gtest.h>

namespace diml {
namespace {

TEST(ImageNames, AreToldByTheirEndingsInAnyCase) {
  for (const char* name : {"a.jpg", "b/c.JPEG", "d.Png", "e.gif", "f.BMP", "g.jfif"}) {
    EXPECT_TRUE(is_image_name(name)) << name;
    EXPECT_FALSE(is_unreadable_image_name(name)) << name;
  }
  for (const char* name : {"a.cr2", "b.JXL", "c.psd", "d.svg"}) {
    EXPECT_FALSE(is_image_name(name)) << name;
    EXPECT_TRUE(is_unreadable_image_name(name)) << name;
  }
  for (const char* name : {"notes.txt", "jpg", "a.", ".jpg/readme", "film.mp4"}) {
    EXPECT_FALSE(is_image_name(name) || is_unreadable_image_name(name)) << name;
  }
}

TEST(ImageNames, EveryEndingIsReadOrCounted) {
  for (const ImageFormat& format : image_formats()) {
    const std::string endings(format.endings);
    for (std::size_t at = 0; at < endings.size();) {
      const std::size_t end = std::min(endings.find(' ', at), endings.size());
      const std::string name = "x" + endings.substr(at, end - at);
      EXPECT_EQ(image_format_named(name), &format) << name;
      EXPECT_NE(is_image_name(name), is_unreadable_image_name(name)) << name;
      at = end + 1;
    }
  }
}

TEST(ImageNames, WhatIsLeftOutIsCountedByEnding) {
  EXPECT_EQ(text_of(UnreadableImages{}), "");
  EXPECT_EQ(text_of(UnreadableImages{{".jxl", 1}}),
            "1 picture is left out: 1 .jxl cannot be read, convert it to .jpg or .png");
  EXPECT_EQ(text_of(UnreadableImages{{".cr2", 2}, {".jxl", 3}}),
            "5 pictures are left out: 2 .cr2 and 3 .jxl cannot be read, convert them to .jpg or "
            ".png");
}

}  // namespace
}  // namespace diml
