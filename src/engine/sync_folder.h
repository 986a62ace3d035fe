#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/image_names.h"
#include "engine/embed_items.h"
#include "engine/gallery_files.h"

namespace diml {

// What the name of the folder that a photo lies in does to its label. An existing label may be an
// edit of a user, which the folder knows nothing of.
enum class FolderLabels : std::uint8_t { fill, set, ignore };  // unlabelled items, all, none
FolderLabels folder_labels_from(std::string_view name);
const char* name_of(FolderLabels labels);

// Items whose photos the gallery has no record of: those of galleries of an older diml, and of
// arrays. Their photos are embedded again and compared, or taken to be unchanged.
enum class WithoutRecord : std::uint8_t { compare, assume_unchanged };

// Most items of a folder are gone: the photos are deleted, or their disk is not mounted.
enum class Removals : std::uint8_t { at_most_half, all };

struct SyncParams {
  FolderLabels labels = FolderLabels::fill;
  WithoutRecord without_record = WithoutRecord::compare;
  Removals removals = Removals::at_most_half;
  BadImages bad = BadImages::stop;
  int threads = 0;  // that read files to compare them
};

enum class SyncAction : std::uint8_t {
  add,       // a new photo
  replace,   // its content changed
  compare,   // of no record: embedded again, and replaced where it differs
  record,    // of no record: assumed to be unchanged
  touch,     // the same content with a new time: the time is recorded
  label,     // gets another label, and is not embedded
  metadata,  // gets other metadata, and is not embedded
  remove,    // its file is gone
};
const char* name_of(SyncAction action);

struct SyncStep {
  SyncAction action = SyncAction::add;
  std::string path;
  std::string detail{};  // "pug -> husky", for people
};

// All that sync would do; nothing is changed yet.
struct SyncPlan {
  std::string folder;  // as the items' paths begin
  bool folder_is_there = true;
  std::vector<SyncStep> steps;  // an item may have two: another label and other metadata
  std::size_t photos = 0;       // in the folder, that can be read
  std::size_t items = 0;        // of the gallery that belong to the folder
  std::size_t elsewhere = 0;    // of the gallery that do not, and are left alone
  std::size_t unread = 0;       // items whose files are there, but are no photos for this build
  std::size_t kept_labels = 0;  // differ from the name of the folder, and stay
  UnreadableImages unreadable;  // pictures in the folder that this build cannot read

  std::vector<ImageToEmbed> to_embed;
  std::vector<ItemUpdate> updates;
  std::vector<std::int64_t> to_remove;

  std::size_t count(SyncAction action) const;
  std::size_t unchanged() const;  // photos whose content is that of their items, also if touched
};

// metadata: paths as in the gallery, or below the folder ("pug/1.jpg"). Items belong to the folder
// by their paths; all others are never touched. Photos are rotated as their EXIF tag says. Throws
// where the folder cannot be read.
SyncPlan plan_sync(const GridSnapshot& gallery, const std::string& folder, MetadataByPath& metadata,
                   const SyncParams& params, const Progress& progress = {});

// Throws where the plan removes more than it may (see Removals).
void expect_few_removals(const SyncPlan& plan, Removals removals);

struct SyncReport {
  std::size_t added = 0;
  std::size_t replaced = 0;
  std::size_t confirmed = 0;  // had no record, were embedded again and stay
  std::vector<std::string> bad;
  bool cancelled = false;
};

// Labels, metadata and removals first, then the photos, chunk by chunk; each part is durable when
// it is done. After an interruption a new plan has what is left. open: called only where a photo is
// to be embedded, before anything is changed.
SyncReport apply_sync(GridStore& gallery, const SyncPlan& plan,
                      const std::function<Embedder()>& open, const SyncParams& params,
                      const Progress& progress = {});

}  // namespace diml
