#pragma once

#include <string>

#include "markup.h"

namespace diml {

// The beginning of a page that is one file, up to its body. Its policy lets it load nothing: the
// pictures are in the file.
inline std::string page_head(const std::string& title, const std::string& style) {
  return R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>)" +
         markup_text(title) +
         R"(</title>
<style>
:root { background: Canvas; color: CanvasText; color-scheme: light dark; }
)" + style +
         "</style>\n</head>\n<body>\n";
}

}  // namespace diml
