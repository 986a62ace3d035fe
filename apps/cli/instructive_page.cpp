#include "instructive_page.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "base/base64.h"
#include "base/markup.h"
#include "base/page_head.h"
#include "base/shown_text.h"
#include "diml/figure.h"
#include "engine/rerank_gain.h"

namespace diml::cli {
namespace {

constexpr std::size_t kThumbnail = 160;  // pixels of the short side
constexpr int kQuality = 80;

constexpr const char* kStyle = R"(
:root { --line: #8884; --right: #1a7f37; --wrong: #cf222e; }
@media (prefers-color-scheme: dark) { :root { --right: #3fb950; --wrong: #ff7b72; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 66rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; }
h2 { font-size: 1.1rem; margin-top: 2.5rem; }
article { border-top: 1px solid var(--line); padding: 1rem 0; }
.three { display: flex; gap: clamp(.5rem, 2vw, 1.5rem); }
figure { flex: 0 1 12rem; margin: 0; min-width: 0; }
figure img, figure svg { aspect-ratio: 1; display: block; height: auto; max-width: 10rem; object-fit: contain; width: 100%; }
figcaption { font-size: .85rem; overflow-wrap: anywhere; }
.right { color: var(--right); font-weight: 600; }
.wrong { color: var(--wrong); font-weight: 600; }
summary { cursor: pointer; margin-top: .25rem; padding: .25rem 0; }
iframe { border: 1px solid var(--line); height: 44rem; width: 100%; }
)";

// An explanation is put into its frame when it is first opened: a page of many stays quick.
constexpr const char* kScript = R"(<script>
for (const details of document.querySelectorAll("details")) {
  details.addEventListener("toggle", () => {
    const frame = details.querySelector("iframe");
    if (!details.open || frame.srcdoc) return;
    frame.addEventListener("load", () => {
      const body = frame.contentDocument?.documentElement;
      if (body) frame.style.height = `${body.scrollHeight + 24}px`;
    });
    frame.srcdoc = frame.dataset.page;
  });
}
</script>
)";

// A rank beyond the list is the latest.
std::size_t lateness(const QueryResult& query) {
  return query.first_right == 0 ? std::numeric_limits<std::size_t>::max() : query.first_right;
}

std::ptrdiff_t right_at_first(const std::vector<QueryResult>& queries) {
  return std::count_if(queries.begin(), queries.end(),
                       [](const QueryResult& query) { return query.p_at_1 == 1.0; });
}

// A document as the value of an attribute; its lines stay lines.
std::string attribute(const std::string& text) {
  std::string safe;
  safe.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    if (c == '&') {
      safe += "&amp;";
    } else if (c == '"') {
      safe += "&quot;";
    } else if (c == '<') {
      safe += "&lt;";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4f", value);
  return text;
}

// The weight of each cell, for images without a picture.
std::string heat_grid(const std::vector<double>& weights, GridShape shape,
                      const std::string& name) {
  const double most = std::max(*std::max_element(weights.begin(), weights.end()), 1e-12);
  std::string svg = "<svg role=\"img\" aria-label=\"" + markup_text(shown(name)) +
                    ", weight of each part\" viewBox=\"0 0 " + std::to_string(shape.cols) + " " +
                    std::to_string(shape.rows) + "\">";
  for (std::size_t cell = 0; cell < weights.size(); ++cell) {
    char rect[256];
    std::snprintf(rect, sizeof(rect),
                  "<rect x=\"%zu\" y=\"%zu\" width=\"1\" height=\"1\" fill=\"#d9480f\" "
                  "fill-opacity=\"%.3f\" stroke=\"#888\" stroke-width=\".02\"><title>%.4f</title>"
                  "</rect>",
                  cell % shape.cols, cell / shape.cols, weights[cell] / most, weights[cell]);
    svg += rect;
  }
  return svg + "</svg>";
}

class Page {
 public:
  Page(const InstructivePage& page, const ComparedDepths& depths, const NamedImages& images,
       Pictures& pictures)
      : page_(page), depths_(depths), images_(images), pictures_(pictures) {}

  std::string article(std::size_t place) const {
    const QueryResult& before = depths_.before.queries[place];
    const QueryResult& after = depths_.after.queries[place];
    const Explanation first = why(before);
    const Explanation then = why(after);
    std::string html = "<article>\n<div class=\"three\">\n";
    html += figure(before.image, then.source_marginal, "query", "");
    html += found(before, first, "first by cosine");
    html += found(after, then, "first after re-ranking");
    html += "</div>\n<p>The first image of its class is at rank " + rank_of(before) +
            " by cosine and at rank " + rank_of(after) + " after re-ranking; average precision " +
            percent(before.average_precision) + " and " + percent(after.average_precision) +
            ".</p>\n";
    html += explained(before, first, "Why it resembles the first by cosine");
    if (after.nearest != before.nearest) {
      html += explained(after, then, "Why it resembles the first after re-ranking");
    }
    return html + "</article>\n";
  }

 private:
  Explanation why(const QueryResult& query) const {
    return explain(page_.grids[static_cast<std::size_t>(query.image)],
                   page_.grids[static_cast<std::size_t>(query.nearest)], page_.match, page_.shape,
                   page_.shape, page_.weights);
  }

  std::string rank_of(const QueryResult& query) const {
    return query.first_right == 0 ? "beyond the list" : std::to_string(query.first_right);
  }

  static std::string percent(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f %%", 100.0 * value);
    return text;
  }

  std::string figure(std::int64_t image, const std::vector<double>& weights,
                     const std::string& heading, const std::string& more) const {
    const std::string name = images_.name_of(image);
    const std::optional<Image> picture = pictures_.of(image);
    std::string html = "<figure>";
    if (picture) {
      const bool large = std::min(picture->width, picture->height) > kThumbnail;
      html += "<img alt=\"" + markup_text(shown(name)) + "\" src=\"data:image/jpeg;base64," +
              base64(encode_jpeg(large ? resize_short_side(*picture, kThumbnail) : *picture,
                                 kQuality)) +
              "\">";
    } else {
      html += heat_grid(weights, page_.shape, name);
    }
    return html + "<figcaption><strong>" + heading + "</strong><br>" + markup_text(shown(name)) +
           " (" + std::to_string(image) + ")<br>" + markup_text(shown(images_.label_of(image))) +
           more + "</figcaption></figure>\n";
  }

  std::string found(const QueryResult& query, const Explanation& why,
                    const std::string& heading) const {
    const bool right = query.p_at_1 == 1.0;
    const std::string more = std::string(" <span class=\"") + (right ? "right" : "wrong") + "\">" +
                             (right ? "right" : "wrong") + "</span><br>cosine " +
                             decimal(why.cosine) + ", structural " + decimal(why.score);
    return figure(query.nearest, why.target_marginal, heading, more);
  }

  // The page of `diml explain`, in a frame of its own.
  std::string explained(const QueryResult& query, const Explanation& why,
                        const std::string& heading) const {
    FigureParams params;
    params.source_name = images_.name_of(query.image);
    params.target_name = images_.name_of(query.nearest);
    const std::string text = explain_page(why, pictures_.or_grid(query.image, page_.shape),
                                          pictures_.or_grid(query.nearest, page_.shape), params);
    return "<details><summary>" + heading + "</summary><iframe title=\"" + heading +
           "\" data-page=\"" + attribute(text) + "\"></iframe></details>\n";
  }

  const InstructivePage& page_;
  const ComparedDepths& depths_;
  const NamedImages& images_;
  Pictures& pictures_;
};

}  // namespace

InstructiveQueries instructive_queries(const ComparedDepths& depths, std::size_t most) {
  const std::vector<QueryResult>& before = depths.before.queries;
  const std::vector<QueryResult>& after = depths.after.queries;
  InstructiveQueries chosen;
  for (std::size_t q = 0; q < before.size(); ++q) {
    const Change change = change_of(before[q], after[q]);
    if (change == Change::fixed) chosen.fixed.push_back(q);
    if (change == Change::broken) chosen.broken.push_back(q);
    if (change == Change::same && after[q].p_at_1 == 0.0) chosen.wrong.push_back(q);
  }
  chosen.all_fixed = chosen.fixed.size();
  chosen.all_broken = chosen.broken.size();
  chosen.all_wrong = chosen.wrong.size();
  // The largest key first; equal ones stay in the order of the images.
  const auto keep = [most](std::vector<std::size_t>& places, auto key) {
    std::stable_sort(places.begin(), places.end(),
                     [&key](std::size_t x, std::size_t y) { return key(x) > key(y); });
    places.resize(std::min(most, places.size()));
  };
  keep(chosen.fixed, [&](std::size_t q) {
    return std::pair(after[q].average_precision - before[q].average_precision, lateness(before[q]));
  });
  keep(chosen.broken, [&](std::size_t q) {
    return std::pair(before[q].average_precision - after[q].average_precision, lateness(after[q]));
  });
  keep(chosen.wrong,
       [&](std::size_t q) { return std::pair(lateness(after[q]), -after[q].average_precision); });
  return chosen;
}

std::string instructive_page(const InstructivePage& page, const ComparedDepths& depths,
                             const NamedImages& images, Pictures& pictures,
                             const Progress& progress) {
  const InstructiveQueries chosen = instructive_queries(depths, page.most);
  const Page maker(page, depths, images, pictures);
  std::string html = page_head(shown(page.title), kStyle);
  html += "<main>\n<h1>" + markup_text(shown(page.title)) + "</h1>\n<p>" +
          std::to_string(depths.before.queries.size()) + " queries; the first " +
          std::to_string(depths.after.rerank) +
          " candidates of each are re-ranked. Of all queries, " +
          std::to_string(right_at_first(depths.before.queries)) +
          " find an image of their class first by cosine, and " +
          std::to_string(right_at_first(depths.after.queries)) + " after re-ranking.</p>\n";
  const std::size_t total = chosen.fixed.size() + chosen.broken.size() + chosen.wrong.size();
  std::size_t drawn = 0;
  const auto section = [&](const std::string& heading, const std::string& words,
                           const std::vector<std::size_t>& places, std::size_t all) {
    html += "<section>\n<h2>" + heading + ": " + std::to_string(all) + "</h2>\n<p>" +
            (all == 0 ? "No query." : words);
    if (places.size() < all) html += " Shown: " + std::to_string(places.size()) + ".";
    html += "</p>\n";
    for (const std::size_t place : places) {
      html += maker.article(place);
      progress(++drawn, total);
    }
    html += "</section>\n";
  };
  section("Fixed", "Wrong by cosine, right after re-ranking; the largest gain first.", chosen.fixed,
          chosen.all_fixed);
  section("Broken", "Right by cosine, wrong after re-ranking; the largest loss first.",
          chosen.broken, chosen.all_broken);
  section("Still wrong",
          "Wrong before and after; those that find their class last come first: look here for "
          "wrong labels.",
          chosen.wrong, chosen.all_wrong);
  return html + "</main>\n" + kScript + "</body>\n</html>\n";
}

}  // namespace diml::cli
