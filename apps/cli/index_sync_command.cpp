#include <cstdio>

#include "base/shown_text.h"
#include "base/stopwatch.h"
#include "diml/error.h"
#include "engine/sync_folder.h"
#include "failure.h"
#include "gallery_command.h"
#include "interrupt.h"
#include "network_options.h"
#include "options.h"
#include "progress_bar.h"
#include "search/name_json.h"

namespace diml::cli {
namespace {

struct SyncCommand {
  std::string gallery;
  std::string folder;
  std::string metadata;
  std::string json;
  bool dry_run = false;
  SyncParams params{};
  NetworkOptions network;

  void define(CLI::App& command);
  void run();

 private:
  void tell(const SyncPlan& plan, const MetadataByPath& texts) const;
  void print_plan(const SyncPlan& plan) const;
  Json json_of(const SyncPlan& plan, const MetadataByPath& texts) const;
};

void SyncCommand::define(CLI::App& command) {
  command.add_option("gallery", gallery, kGalleryHelp)->required();
  command.add_option("folder", folder, "The folder of the photos, and of the folders in it")
      ->required();
  command.add_flag("--dry-run", dry_run, "Print what would be done, and change nothing");
  command.add_option(
      "--metadata", metadata,
      "One line per image: {\"path\": \"pug/1.jpg\", \"label\": \"pug\", \"metadata\": {...}}; the "
      "path in the folder or the whole one");
  add_choice(command, "--labels", params.labels, folder_labels_from,
             "Names of folders as labels: fill where there is none, set all, or ignore");
  command.add_flag_callback(
      "--force", [this] { params.removals = Removals::all; },
      "Remove images also where more than half of the folder's are gone");
  command.add_flag_callback(
      "--assume-unchanged", [this] { params.without_record = WithoutRecord::assume_unchanged; },
      "Images without a record of their files, as older galleries have them, are not embedded "
      "again to compare them");
  command.add_flag_callback(
      "--skip-bad", [this] { params.bad = BadImages::skip; },
      "Skip images that cannot be read, and list them");
  network.define_running_of_gallery(command);
  define_threads(command, params.threads);
  command.add_option("--json", json, "What was done, for programs; - for standard output");
}

std::string counted(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

// What the numbers of the last line do not say.
void SyncCommand::tell(const SyncPlan& plan, const MetadataByPath& texts) const {
  if (!plan.unreadable.empty()) tell_at_end(folder + ": " + text_of(plan.unreadable));
  if (plan.unread > 0) {
    tell_at_end(counted(plan.unread, "image of the gallery is", "images of the gallery are") +
                " in the folder but cannot be read by this build, and stay as before");
  }
  if (plan.kept_labels > 0) {
    tell_at_end(counted(plan.kept_labels, "label differs", "labels differ") +
                " from the name of the folder and stay (--labels set takes the folders' names)");
  }
  if (plan.items == 0 && plan.elsewhere > 0) {
    tell_at_end("no image of the gallery came from " + plan.folder + ": all of its photos are new");
  }
  tell_unused(texts, metadata);
}

void SyncCommand::print_plan(const SyncPlan& plan) const {
  for (const SyncStep& step : plan.steps) {
    std::printf("%-9s %s%s%s%s\n", name_of(step.action), shown(step.path).c_str(),
                step.detail.empty() ? "" : "  (", shown_message(step.detail).c_str(),
                step.detail.empty() ? "" : ")");
  }
}

// The numbers of the photos and of the gallery that a plan knows.
Json SyncCommand::json_of(const SyncPlan& plan, const MetadataByPath& texts) const {
  std::size_t unreadable = 0;
  for (const auto& [ending, count] : plan.unreadable) unreadable += count;
  return {{"dry_run", dry_run},
          {"photos", plan.photos},
          {"added", plan.count(SyncAction::add)},
          {"replaced", plan.count(SyncAction::replace)},
          {"removed", plan.to_remove.size()},
          {"labels", plan.count(SyncAction::label)},
          {"metadata", plan.count(SyncAction::metadata)},
          {"unchanged", plan.unchanged()},
          {"touched", plan.count(SyncAction::touch)},
          {"without_record", plan.count(SyncAction::compare) + plan.count(SyncAction::record)},
          {"bad", 0},
          {"unreadable", unreadable},
          {"elsewhere", plan.elsewhere},
          {"kept_labels", plan.kept_labels},
          {"unused_metadata", unused_lines(texts)}};
}

void SyncCommand::run() {
  JsonOutput output(json);
  MetadataByPath texts = metadata.empty() ? MetadataByPath() : load_metadata(metadata);
  const Stopwatch watch;
  const std::shared_ptr<GridStore> store =
      open_gallery(gallery, dry_run ? StoreAccess::read : StoreAccess::write);
  const Interrupt interrupt;
  const SyncPlan plan = or_stopped(
      [&] {
        return plan_sync(*store->snapshot(), folder, texts, params,
                         progress_bar("compare").with(Interrupt::asked));
      },
      [] { return "stopped while the photos were compared: nothing was changed"; });
  Json done = json_of(plan, texts);
  SyncReport report;
  std::size_t so_far = 0;
  if (!dry_run) {
    const Progress bar = progress_bar("sync");
    const Progress progress(
        [&](std::size_t embedded, std::size_t all) {
          so_far = embedded;
          bar(embedded, all);
        },
        Interrupt::asked);
    report = apply_sync(
        *store, plan,
        [&] { return open_embedder_of(*store, network.with_threads(params.threads)); }, params,
        progress);
    report_bad(report.bad, plan.to_embed.size(), "");
    if (report.cancelled) {
      throw Error("stopped after " + std::to_string(so_far) + " of " +
                  std::to_string(plan.to_embed.size()) +
                  " photos to embed, which are kept: the same command continues");
    }
    done["added"] = report.added;
    done["replaced"] = report.replaced;
    done["bad"] = report.bad.size();
  }
  const std::size_t items = store->snapshot()->size();
  done["items"] = items;
  done["seconds"] = watch.seconds();
  if (dry_run) {
    done["steps"] = Json::array();
    for (const SyncStep& step : plan.steps) {
      Json one = {{"action", name_of(step.action)}};
      put_name(one, "path", step.path);
      done["steps"].push_back(std::move(one));
    }
  }
  tell(plan, texts);
  output.write(done);
  if (output.takes_standard_output()) return;
  if (dry_run) print_plan(plan);
  const auto number = [&](const char* name) { return done[name].get<std::size_t>(); };
  if (const std::size_t without = number("without_record"); without > 0) {
    std::printf("%s without a record of its file", counted(without, "image", "images").c_str());
    if (plan.count(SyncAction::record) > 0) {
      std::printf(": assumed to be unchanged, and recorded%s\n", dry_run ? " (dry run)" : "");
    } else if (dry_run) {
      std::printf(": to be embedded again and compared\n");
    } else {
      std::printf(": embedded again, %zu unchanged and recorded\n", report.confirmed);
    }
  }
  std::printf("%s%zu added, %zu replaced, %zu removed, %s and %zu metadata updated, %zu unchanged",
              dry_run ? "dry run: " : "", number("added"), number("replaced"), number("removed"),
              counted(number("labels"), "label", "labels").c_str(), number("metadata"),
              number("unchanged"));
  if (number("touched") > 0) std::printf(" (%zu with a new time)", number("touched"));
  if (number("bad") > 0) std::printf(", %zu bad", number("bad"));
  std::printf("; %zu images in %s", items, shown(store->name()).c_str());
  if (plan.elsewhere > 0) std::printf(", %zu of them from elsewhere", plan.elsewhere);
  std::printf(": %.1f s\n", done["seconds"].get<double>());
  if (dry_run) expect_few_removals(plan, params.removals);  // what the call would say
}

}  // namespace

void define_index_sync(CLI::App& command, Run& chosen) {
  auto options = std::make_shared<SyncCommand>();
  options->define(command);
  command.footer("Example:\n  diml index sync photos.gallery photos/ --dry-run");
  command.callback([options, &chosen] { chosen = [options] { options->run(); }; });
}

}  // namespace diml::cli
