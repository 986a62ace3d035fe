#pragma once

#include <string>

#include "command.h"
#include "diml/gallery.h"
#include "engine/gallery_files.h"

namespace diml::cli {

// The subcommands of `diml index`. Each sets `chosen` to its function when it is called.
void define_index_build(CLI::App& command, Run& chosen);
void define_index_add(CLI::App& command, Run& chosen);
void define_index_sync(CLI::App& command, Run& chosen);  // with networks
void define_index_remove(CLI::App& command, Run& chosen);
void define_index_info(CLI::App& command, Run& chosen);
void define_index_list(CLI::App& command, Run& chosen);
void define_index_verify(CLI::App& command, Run& chosen);
void define_index_export(CLI::App& command, Run& chosen);
void define_index_cache(CLI::App& command, Run& chosen);
void define_index_backup(CLI::App& command, Run& chosen);
void define_index_restore(CLI::App& command, Run& chosen);
void define_index_compact(CLI::App& command, Run& chosen);
void define_index_salvage(CLI::App& command, Run& chosen);
void define_index_copy(CLI::App& command, Run& chosen);
void define_index_shard(CLI::App& command, Run& chosen);

constexpr const char* kGalleryHelp =
    "The gallery's folder, or postgres://USER@HOST:PORT/DATABASE/GALLERY";

// Says at the end how many lines of a file of metadata name no image of the call. file: its name.
void tell_unused(const MetadataByPath& metadata, const std::string& file);

// Says at the end how the cells of a source were understood, where that was not plain.
void tell_layout(const EmbeddingSource& source);

// "12.3 MB", for people.
std::string size_text(std::uint64_t bytes);

}  // namespace diml::cli
