#include "engine/index_gallery.h"

#include <filesystem>

#include "base/stopwatch.h"
#include "diml/approximate_index.h"
#include "diml/error.h"
#include "diml/gallery.h"

namespace diml {

StoreIndex index_gallery(GridStore& gallery, const std::string& kind, int threads,
                         const Progress& built, const Progress& judged) {
  if (kind == "pgvector") return gallery.make_own_index(built);
  const IndexKind wanted = index_kind_from(kind);
  if (is_in_database(gallery.name())) {
    throw Error(ErrorKind::bad_input,
                gallery.name() + ": an index of kind " + kind +
                    " lies beside a folder: a gallery in PostgreSQL has one of kind pgvector",
                "kind");
  }
  const std::unique_ptr<GridSnapshot> snapshot = gallery.snapshot();
  const StoredVectors all = snapshot->vectors();
  const VectorsView vectors{all.globals.data(), all.ids.size(), gallery.format().dim};
  const Stopwatch watch;
  const auto index = build_index(wanted, vectors, all.ids,
                                 {snapshot->birth(), snapshot->revision()}, threads, built);
  StoreIndex made{.kind = kind, .items = all.ids.size(), .seconds = watch.seconds()};
  constexpr std::size_t kJudgedQueries = 1000;
  for (const std::size_t depth : {1, 10, 100}) {
    judged(made.recall.size(), 3);
    made.recall[depth] = recall_of(*index, vectors, all.ids, depth, kJudgedQueries, threads);
  }
  judged(3, 3);
  const std::string file = index_file(gallery.name());
  index->save(file);
  made.bytes = std::filesystem::file_size(file);
  return made;
}

}  // namespace diml
