#include "page.h"

#include <algorithm>
#include <vector>

#include "base/sha256.h"
#include "embedded/add_panel.js.h"
#include "embedded/api.js.h"
#include "embedded/app.css.h"
#include "embedded/app.js.h"
#include "embedded/choose.js.h"
#include "embedded/compare_view.js.h"
#include "embedded/download.js.h"
#include "embedded/elements.js.h"
#include "embedded/filters.js.h"
#include "embedded/gallery_view.js.h"
#include "embedded/icon.svg.h"
#include "embedded/index.html.h"
#include "embedded/item_panel.js.h"
#include "embedded/match_view.css.h"
#include "embedded/match_view.js.h"
#include "embedded/messages.js.h"
#include "embedded/photos.js.h"
#include "embedded/redraw.js.h"
#include "embedded/search_view.js.h"

namespace diml::server {
namespace {

constexpr const char* kScript = "text/javascript; charset=utf-8";
constexpr const char* kStyle = "text/css; charset=utf-8";
constexpr const char* kText = "text/html; charset=utf-8";
// Nothing from other servers, and no scripts except these files, so a path or a label of the
// gallery cannot run as a script.
constexpr const char* kPolicy =
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

std::string tag_of(std::string_view bytes) {
  Sha256 hash;
  hash.update({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  std::string tag = hash.hex();
  tag.resize(18, '"');
  tag.front() = '"';
  tag.back() = '"';
  return tag;
}

std::vector<PageFile> all_files() {
  std::vector<PageFile> files = {
      {"/", kText, embedded::index_html, ""},
      {"/add_panel.js", kScript, embedded::add_panel_js, ""},
      {"/api.js", kScript, embedded::api_js, ""},
      {"/app.css", kStyle, embedded::app_css, ""},
      {"/app.js", kScript, embedded::app_js, ""},
      {"/choose.js", kScript, embedded::choose_js, ""},
      {"/compare_view.js", kScript, embedded::compare_view_js, ""},
      {"/download.js", kScript, embedded::download_js, ""},
      {"/elements.js", kScript, embedded::elements_js, ""},
      {"/filters.js", kScript, embedded::filters_js, ""},
      {"/gallery_view.js", kScript, embedded::gallery_view_js, ""},
      {"/icon.svg", "image/svg+xml", embedded::icon_svg, ""},
      {"/item_panel.js", kScript, embedded::item_panel_js, ""},
      {"/match_view.css", kStyle, embedded::match_view_css, ""},
      {"/match_view.js", kScript, embedded::match_view_js, ""},
      {"/messages.js", kScript, embedded::messages_js, ""},
      {"/photos.js", kScript, embedded::photos_js, ""},
      {"/redraw.js", kScript, embedded::redraw_js, ""},
      {"/search_view.js", kScript, embedded::search_view_js, ""},
  };
  for (PageFile& file : files) {
    file.tag = tag_of(file.bytes);
  }
  return files;
}

}  // namespace

const PageFile* find_page_file(const std::string& path) {
  static const std::vector<PageFile> files = all_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const PageFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

Reply page_reply(const PageFile& file, const std::string& known_tag) {
  Reply reply{
      .type = file.type,
      .headers = {
          {"ETag", file.tag}, {"Cache-Control", "no-cache"}, {"Content-Security-Policy", kPolicy}}};
  if (known_tag == file.tag) {
    reply.status = 304;
  } else {
    reply.body = file.bytes;
  }
  return reply;
}

}  // namespace diml::server
