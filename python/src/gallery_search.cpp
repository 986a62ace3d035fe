#include <pybind11/stl.h>

#include <filesystem>

#include "engine/compared_image.h"
#include "gallery.h"
#include "images.h"
#include "pair_match.h"

namespace diml::python {
namespace {

py::object label_of(const Item& item) {
  return item.label.empty() ? py::object(py::none()) : py::object(py::str(item.label));
}

py::list list_of(const std::vector<Hit>& hits) {
  py::list list;
  for (std::size_t k = 0; k < hits.size(); ++k) {
    const Hit& hit = hits[k];
    py::dict one;
    one["rank"] = k + 1;
    one["id"] = hit.item.id;
    one["path"] = hit.item.path;
    one["label"] = label_of(hit.item);
    one["global"] = hit.global;
    one["structural"] = hit.structural ? py::object(py::float_(*hit.structural)) : py::none();
    one["total"] = hit.total;
    one["first_rank"] = hit.first_rank;
    one["metadata"] = hit.item.metadata;  // text: Python reads it
    list.append(one);
  }
  return list;
}

struct Asking {
  std::size_t top;
  SearchParams params;
  Filter filter;

  Asking(std::size_t k, std::size_t rerank, std::pair<float, float> weights,
         const MatchParams& match, const std::vector<std::string>& where)
      : top(k), params{rerank, match, {weights.first, weights.second}}, filter(where) {
    if (k == 0) throw Error("k is 1 or more: how many images are found for each query");
    check(params.weights);
  }
};

constexpr std::size_t kAtOnce = 64;         // queries between two reports
constexpr std::size_t kPicturesAtOnce = 8;  // between two looks at Ctrl-C

// queries: of the gallery's shape. ids: of the queries in the gallery, or none.
py::list search(OpenGallery& gallery, const GridSetView& queries,
                const std::vector<std::int64_t>& ids, const Asking& asking,
                const Progress& progress) {
  std::vector<std::vector<Hit>> found;
  {
    const py::gil_scoped_release without_gil;
    const Searcher& searcher = gallery.searcher();
    for (std::size_t first = 0; first < queries.size; first += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, queries.size - first);
      std::vector<GridView> some;
      for (std::size_t q = first; q < first + count; ++q) some.push_back(queries[q]);
      auto hits = searcher.search(
          set_of(some), asking.top,
          ids.empty() ? std::span<const std::int64_t>() : std::span(ids).subspan(first, count),
          asking.params, asking.filter, progress);
      std::move(hits.begin(), hits.end(), std::back_inserter(found));
      progress(first + count, queries.size);
    }
  }
  py::list lists;
  for (const std::vector<Hit>& hits : found) lists.append(list_of(hits));
  return lists;
}

using Weights = std::pair<float, float>;

py::list search_ids(OpenGallery& gallery, const std::vector<std::int64_t>& ids, std::size_t k,
                    std::size_t rerank, Weights weights, const MatchParams& match,
                    const std::vector<std::string>& where, const py::object& progress) {
  const Asking asking(k, rerank, weights, match, where);
  const Progress report = progress_to(progress);
  std::unique_ptr<GridSnapshot> snapshot;
  std::vector<GridView> grids;
  {
    const py::gil_scoped_release without_gil;
    snapshot = gallery.store().snapshot();
    grids = snapshot->grids(ids);
  }
  return search(gallery, set_of(grids), ids, asking, report);
}

py::list search_grids(OpenGallery& gallery, const std::shared_ptr<Grids>& queries, std::size_t k,
                      std::size_t rerank, Weights weights, const MatchParams& match,
                      const std::vector<std::string>& where, const py::object& progress) {
  const Asking asking(k, rerank, weights, match, where);
  GridSet stored;
  {
    const py::gil_scoped_release without_gil;
    stored = gallery.stored_as(*queries);
  }
  return search(gallery, stored.view(), {}, asking, progress_to(progress));
}

py::list search_photos(OpenGallery& gallery, const std::vector<std::string>& paths, std::size_t k,
                       std::size_t rerank, Weights weights, const MatchParams& match,
                       const std::vector<std::string>& where, const py::object& progress) {
  const Asking asking(k, rerank, weights, match, where);
  const Watch watch(progress);
  GridSet queries;
  {
    const py::gil_scoped_release without_gil;
    queries = gallery.of_photos(paths, watch.progress());
  }
  watch.rethrow();
  return search(gallery, queries.view(), {}, asking, progress_to(py::none()));
}

py::list search_pictures(OpenGallery& gallery, const std::vector<Pixels>& pictures, std::size_t k,
                         std::size_t rerank, Weights weights, const MatchParams& match,
                         const std::vector<std::string>& where, const py::object& progress) {
  const Asking asking(k, rerank, weights, match, where);
  std::vector<Image> images;
  images.reserve(pictures.size());
  for (const Pixels& picture : pictures) images.push_back(image_of(picture));
  const Progress ctrl_c = ended_by_ctrl_c();
  GridSet queries;
  {
    const py::gil_scoped_release without_gil;
    const SharedEmbedder::Turn embedder(gallery.embedder());
    queries = GridSet(images.size(), embedder->cells_per_grid(), embedder->dim(),
                      gallery.store().format().type);
    for (std::size_t first = 0; first < images.size(); first += kPicturesAtOnce) {
      const std::size_t count = std::min(kPicturesAtOnce, images.size() - first);
      const GridSet some = embedder->embed(std::span<const Image>(images).subspan(first, count),
                                           gallery.store().format().type);
      for (std::size_t i = 0; i < count; ++i) queries.put(first + i, some[i]);
      ctrl_c.cancelled();
    }
  }
  return search(gallery, queries.view(), {}, asking, progress_to(progress));
}

std::vector<std::int64_t> admitted(OpenGallery& gallery, const std::vector<std::string>& where) {
  const py::gil_scoped_release without_gil;
  if (where.empty()) return gallery.store().snapshot()->ids();
  return *gallery.searcher().admitted(Filter(where));
}

// An item by its id or path, or a photo by its file or pixels.
using Side = std::variant<std::int64_t, std::string, Pixels>;

ComparedImage side_of(OpenGallery& gallery, const GridSnapshot& snapshot, const Side& side) {
  Image photo;
  if (const auto* pixels = std::get_if<Pixels>(&side)) photo = image_of(*pixels);
  const py::gil_scoped_release without_gil;
  if (const auto* id = std::get_if<std::int64_t>(&side)) return stored_image(snapshot, *id);
  std::string name = "photo";
  if (const auto* path = std::get_if<std::string>(&side)) {
    // Digits name a file here: an id is a number.
    const bool number = path->find_first_not_of("0123456789") == std::string::npos;
    if (!number) {
      if (const auto id = item_called(snapshot, *path)) return stored_image(snapshot, *id);
    }
    photo = read_image(*path, {.orientation = Orientation::exif});
    name = std::filesystem::path(*path).filename().string();
  }
  const SharedEmbedder::Turn embedder(gallery.embedder());
  return photo_to_compare(snapshot, photo, name, *embedder);
}

// (match, (source picture, target picture), (source name, target name))
py::tuple explain(OpenGallery& gallery, const Side& source, const Side& target,
                  const std::string& backend, MatchParams match) {
  match.transport.backend = backend_from(backend);
  const std::unique_ptr<GridSnapshot> snapshot = gallery.snapshot();
  ComparedImage from = side_of(gallery, *snapshot, source);
  ComparedImage to = side_of(gallery, *snapshot, target);
  return py::make_tuple(
      matched(Grids::of_set(std::move(from.grid)), Grids::of_set(std::move(to.grid)), match),
      py::make_tuple(pixels_of(from.image), pixels_of(to.image)),
      py::make_tuple(from.name, to.name));
}

}  // namespace

GridSet OpenGallery::stored_as(const Grids& grids) const {
  const GridFormat& format = store_->format();
  const GridSetView from = grids.one_shape("a gallery");
  if (from.cells_per_grid != format.cells_per_grid || from.dim != format.dim) {
    throw Error("the gallery has grids of " + shape_text(format) + ", these have " +
                std::to_string(from.cells_per_grid) + " cells of " + std::to_string(from.dim) +
                " dimensions: embed them with the gallery's model");
  }
  GridSet set(from.size, from.cells_per_grid, from.dim, format.type);
  for (std::size_t i = 0; i < from.size; ++i) {
    const GridView grid = from[i];
    set.set(i, {static_cast<const float*>(grid.cells), grid.count * grid.dim},
            {grid.global, grid.dim});
  }
  return set;
}

GridSet OpenGallery::of_photos(const std::vector<std::string>& paths, const Progress& progress) {
  const SharedEmbedder::Turn embedder(this->embedder());
  GridSet grids(paths.size(), embedder->cells_per_grid(), embedder->dim(), store_->format().type);
  embedder->embed_files(
      paths, {.orientation = Orientation::exif},
      [&](const EmbeddedBatch& batch) { put_grids(batch, grids, batch.first); }, progress);
  return grids;
}

void bind_gallery_search(GalleryClass& gallery) {
  gallery
      .def("search_ids", &search_ids, py::arg("queries"), py::arg("k"), py::arg("rerank"),
           py::arg("weights"), py::arg("match"), py::arg("where"), py::arg("progress"))
      .def("search_grids", &search_grids, py::arg("queries"), py::arg("k"), py::arg("rerank"),
           py::arg("weights"), py::arg("match"), py::arg("where"), py::arg("progress"))
      .def("search_photos", &search_photos, py::arg("queries"), py::arg("k"), py::arg("rerank"),
           py::arg("weights"), py::arg("match"), py::arg("where"), py::arg("progress"))
      .def("search_pictures", &search_pictures, py::arg("queries"), py::arg("k"), py::arg("rerank"),
           py::arg("weights"), py::arg("match"), py::arg("where"), py::arg("progress"))
      .def("admitted", &admitted, py::arg("where"))
      .def("explain", &explain, py::arg("source"), py::arg("target"), py::arg("backend"),
           py::arg("match"));
}

}  // namespace diml::python
