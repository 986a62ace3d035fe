#include "diml/figure.h"

#include "base/base64.h"
#include "base/page_head.h"
#include "embedded/match_view.css.h"
#include "embedded/match_view.js.h"
#include "explanation_json.h"

namespace diml {
namespace {

constexpr int kQuality = 90;

constexpr const char* kStyle = R"(
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
)";

constexpr const char* kCall = R"(
const given = JSON.parse(document.getElementById("given").textContent);
drawMatch(document.getElementById("match"), given.explanation, given);
)";

std::string data_address(const Image& image) {
  return "data:image/jpeg;base64," + base64(encode_jpeg(image, kQuality));
}

// A script element must not contain anything like markup; JSON can escape it.
std::string safe_in_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string explain_page(const Explanation& explanation, const Image& source, const Image& target,
                         const FigureParams& params) {
  nlohmann::ordered_json given;
  // The page computes the list of pairs from the matrices.
  given["explanation"] = json_of(explanation, 0);
  given["sourceImage"] = data_address(source);
  given["targetImage"] = data_address(target);
  given["sourceName"] = params.source_name;
  given["targetName"] = params.target_name;
  given["arrows"] = params.strongest;
  // A file name may contain any bytes.
  const std::string text = given.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string page =
      page_head("Why these two match", kStyle + std::string(embedded::match_view_css));
  page += "<main id=\"match\"></main>\n";
  page += "<script type=\"application/json\" id=\"given\">" + safe_in_script(text) + "</script>\n";
  page += "<script type=\"module\">\n";
  page += embedded::match_view_js;
  page += kCall;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace diml
