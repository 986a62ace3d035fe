#include <cstdio>

#include "base/shown_text.h"
#include "base/stopwatch.h"
#include "diml/error.h"
#include "engine/copy_gallery.h"
#include "gallery_command.h"
#include "interrupt.h"
#include "options.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

struct CopyCommand {
  std::string from;
  std::string to;
  std::string json;

  void run() const;
};

void CopyCommand::run() const {
  JsonOutput output(json);
  const Stopwatch watch;
  const std::shared_ptr<GridStore> source = open_gallery(from);
  const std::shared_ptr<GridStore> target = gallery_exists(to)
                                                ? open_gallery(to, StoreAccess::write)
                                                : create_gallery(to, source->format());
  if (const std::string caution = target->caution(); !caution.empty()) tell_at_end(caution);
  CopyReport report;
  {
    const Interrupt interrupt;
    report = copy_gallery(*source, *target, progress_bar("copy").with(Interrupt::asked));
  }
  if (report.cancelled) {
    throw Error("stopped after " + std::to_string(report.known + report.copied) + " of " +
                std::to_string(report.items) +
                " images, which are kept: the same command continues");
  }
  if (report.renumbered) {
    tell_at_end("the ids of the copy count from 0 without gaps: some are others than in " +
                source->name());
  }
  const double seconds = watch.seconds();
  output.write({{"from", source->name()},
                {"to", target->name()},
                {"items", report.items},
                {"copied", report.copied},
                {"known", report.known},
                {"renumbered", report.renumbered},
                {"seconds", seconds}});
  if (output.takes_standard_output()) return;
  std::printf("%zu images copied", report.copied);
  if (report.known > 0) std::printf(", %zu were there already", report.known);
  std::printf("; %zu in %s: %.1f s\n", report.items, shown(target->name()).c_str(), seconds);
}

}  // namespace

void define_index_copy(CLI::App& command, Run& chosen) {
  auto options = std::make_shared<CopyCommand>();
  command.add_option("from", options->from, kGalleryHelp)->required();
  command
      .add_option("to", options->to,
                  "A new gallery, or the one that an earlier call did not finish")
      ->required();
  command.add_option("--json", options->json, "What was done, for programs; - for standard output");
  command.footer(
      "Example:\n  diml index copy photos.gallery postgres://ann@db.example/shop/photos");
  command.callback([options, &chosen] { chosen = [options] { options->run(); }; });
}

}  // namespace diml::cli
