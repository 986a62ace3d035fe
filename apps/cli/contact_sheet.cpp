#include "contact_sheet.h"

#include <cstdio>
#include <filesystem>

#include "base/base64.h"
#include "base/markup.h"
#include "base/page_head.h"
#include "base/shown_text.h"

namespace diml::cli {
namespace {

constexpr const char* kStyle = R"(
  :root { --line: #8884; --dim: #5d6570; }
  @media (prefers-color-scheme: dark) { :root { --dim: #a3abb5; } }
  body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; }
  h1 { font-size: 1.3rem; }
  h2 { font-size: .9rem; margin: .4rem 0; overflow-wrap: anywhere; }
  section { border-top: 1px solid var(--line); display: flex; gap: 1.5rem; padding: 1rem 0; }
  ol { display: grid; flex: 1; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr));
       list-style: none; margin: 0; padding: 0; }
  figure { margin: 0; max-width: 10rem; }
  img, .none { aspect-ratio: 1; background: var(--line); border-radius: 8px; display: block; object-fit: cover; width: 100%; }
  figcaption { font-size: .8rem; margin-top: .4rem; overflow-wrap: anywhere; }
  table { border-spacing: 0; font-variant-numeric: tabular-nums; }
  td { padding: 0 .8em 0 0; }
  .dim { color: var(--dim); }
  @media (max-width: 40rem) {
    section { flex-direction: column; }
    ol { grid-template-columns: repeat(2, minmax(0, 1fr)); width: 100%; }
  }
)";

std::string picture(const std::vector<std::uint8_t>& thumbnail, const std::string& name) {
  if (thumbnail.empty()) return "<div class=none></div>";
  return "<img alt=\"" + markup_text(shown(name)) + "\" src=\"data:image/jpeg;base64," +
         base64(thumbnail) + "\">";
}

// The name, with its last folder where there is no label: that is often the class. The whole path
// shows under the pointer.
std::string short_name(const std::string& path, const std::string& label = "") {
  const std::filesystem::path place(path);
  const std::string name =
      label.empty() ? place.parent_path().filename() / place.filename() : place.filename();
  return "<span title=\"" + markup_text(shown(path)) + "\">" + markup_text(shown(name)) + "</span>";
}

std::string number(float value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4f", static_cast<double>(value));
  return text;
}

std::string figure_of(const SheetHit& sheet, std::size_t rank) {
  const Hit& hit = sheet.hit;
  const auto row = [](const char* name, const std::string& value) {
    return std::string("<tr><td class=dim>") + name + "<td>" + value;
  };
  std::string html = "<li><figure>" + picture(sheet.thumbnail, hit.item.path) + "<figcaption>";
  html += "<b>" + std::to_string(rank) + ".</b> " + short_name(hit.item.path, hit.item.label) +
          " <span class=dim>id " + std::to_string(hit.item.id);
  if (!hit.item.label.empty()) html += ", " + markup_text(shown(hit.item.label));
  html += "</span><table>" + row("total", number(hit.total)) + row("global", number(hit.global)) +
          row("structural", hit.structural ? number(*hit.structural) : "not matched") + "</table>";
  if (hit.item.metadata != "{}") {
    html += "<span class=dim>" + markup_text(hit.item.metadata) + "</span>";
  }
  return html + "</figcaption></figure></li>\n";
}

}  // namespace

std::string contact_sheet(const std::string& gallery, const std::vector<SheetQuery>& queries) {
  std::string html =
      page_head(shown(gallery), kStyle) + "<main><h1>" + markup_text(shown(gallery)) + "</h1>\n";
  for (const SheetQuery& query : queries) {
    html += "<section><figure>" + picture(query.thumbnail, query.name) + "<figcaption><h2>" +
            short_name(query.name) + "</h2></figcaption></figure>\n<ol>\n";
    for (std::size_t k = 0; k < query.hits.size(); ++k) html += figure_of(query.hits[k], k + 1);
    html += "</ol></section>\n";
  }
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace diml::cli
