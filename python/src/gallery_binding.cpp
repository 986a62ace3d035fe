#include <pybind11/stl.h>

#include "base/npy.h"
#include "diml/gallery_images.h"
#include "gallery.h"

namespace diml::python {
namespace {

SearcherParams searching(const std::string& first_stage, const std::string& backend) {
  return {first_stage, backend_from(backend), threads()};
}

// folder, its cells and their dimensions; a gallery of arrays.
std::shared_ptr<OpenGallery> create_of_arrays(const std::string& folder, std::size_t cells,
                                              std::size_t dim, const std::string& type,
                                              const std::string& first_stage,
                                              const std::string& backend) {
  check_grid_shape(cells, dim);
  GridFormat format;
  format.cells_per_grid = cells;
  format.dim = dim;
  format.type = cell_type_from(type);
  const SearcherParams how = searching(first_stage, backend);
  const py::gil_scoped_release without_gil;
  return std::make_shared<OpenGallery>(create_gallery(folder, format), how, EmbeddingParams{});
}

std::shared_ptr<OpenGallery> create(const std::string& folder, const py::dict& network,
                                    const std::string& type, const std::string& first_stage,
                                    const std::string& backend) {
  const EmbeddingParams params = embedding_params(network);
  const CellType cells = cell_type_from(type);
  const SearcherParams how = searching(first_stage, backend);
  const py::gil_scoped_release without_gil;
  auto embedder = std::make_shared<SharedEmbedder>(open_embedder(params));
  GridFormat format = embedder->about().format();
  format.type = cells;
  auto made = std::make_shared<OpenGallery>(create_gallery(folder, format), how, params);
  made->keep(std::move(embedder));
  return made;
}

std::shared_ptr<OpenGallery> open(const std::string& folder, bool write, const py::dict& network,
                                  const std::string& first_stage, const std::string& backend) {
  const EmbeddingParams params = embedding_params(network);
  const SearcherParams how = searching(first_stage, backend);
  const py::gil_scoped_release without_gil;
  return std::make_shared<OpenGallery>(
      open_gallery(folder, write ? StoreAccess::write : StoreAccess::read), how, params);
}

// A new model must be the gallery's; this says so before anything is done.
void expect_model(OpenGallery& gallery) {
  const py::gil_scoped_release without_gil;
  gallery.embedder();
}

py::dict dict_of(const Item& item) {
  py::dict found;
  found["id"] = item.id;
  found["path"] = item.path;
  found["label"] = item.label.empty() ? py::object(py::none()) : py::object(py::str(item.label));
  found["metadata"] = item.metadata;
  return found;
}

py::dict info(const OpenGallery& gallery) {
  GridStore& store = gallery.store();
  const GridFormat& format = store.format();
  StoreSummary summary;
  std::size_t size = 0;
  std::uint64_t revision = 0;
  GridStore::Space space;
  {
    const py::gil_scoped_release without_gil;
    const std::unique_ptr<GridSnapshot> snapshot = store.snapshot();
    size = snapshot->size();
    revision = snapshot->revision();
    space = store.space();
    summary = snapshot->summary();
  }
  py::dict info;
  info["gallery"] = store.name();
  info["items"] = size;
  info["labels"] = summary.labels;
  info["cells_per_grid"] = format.cells_per_grid;
  info["dim"] = format.dim;
  info["type"] = name_of(format.type);
  info["revision"] = revision;
  info["bytes"] = space.used;
  info["bytes_free"] = space.free;
  info["model"] = format.model;
  info["embedding"] = format.embedding;
  return info;
}

// float32 (cells [ids, R, D], globals [ids, D]); stored cells of 16 bits are converted exactly.
py::tuple grids(const OpenGallery& gallery, const std::vector<std::int64_t>& ids) {
  const GridFormat& format = gallery.store().format();
  py::array_t<float> cells({static_cast<py::ssize_t>(ids.size()),
                            static_cast<py::ssize_t>(format.cells_per_grid),
                            static_cast<py::ssize_t>(format.dim)});
  py::array_t<float> globals(
      {static_cast<py::ssize_t>(ids.size()), static_cast<py::ssize_t>(format.dim)});
  float* cell = cells.mutable_data();
  float* global = globals.mutable_data();
  {
    const py::gil_scoped_release without_gil;
    const std::unique_ptr<GridSnapshot> snapshot = gallery.store().snapshot();
    for (const GridView& grid : snapshot->grids(ids)) {
      for (std::size_t r = 0; r < grid.count; ++r) {
        for (std::size_t d = 0; d < grid.dim; ++d) *cell++ = grid.at(r, d);
      }
      global = std::copy(grid.global, grid.global + grid.dim, global);
    }
  }
  return py::make_tuple(cells, globals);
}

py::dict verify(const OpenGallery& gallery, const py::object& progress) {
  const Progress report = progress_to(progress);
  StoreFaults faults;
  {
    const py::gil_scoped_release without_gil;
    faults = gallery.store().snapshot()->verify(report);
  }
  py::dict found;
  found["items"] = faults.items;
  found["damaged"] = faults.damaged;
  found["faults"] = faults.faults;
  return found;
}

std::optional<std::int64_t> find(const OpenGallery& gallery, const std::string& path) {
  return gallery.snapshot()->find(path);
}

py::bytes thumbnail(const OpenGallery& gallery, std::int64_t id) {
  const std::vector<std::uint8_t> bytes = gallery.snapshot()->thumbnail(id);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

const Searcher& OpenGallery::searcher() {
  const std::lock_guard lock(mutex_);
  if (!searcher_) searcher_ = std::make_unique<Searcher>(store_, searching_);
  return *searcher_;
}

SharedEmbedder& OpenGallery::embedder() {
  const std::lock_guard lock(mutex_);
  if (!embedder_) embedder_ = std::make_shared<SharedEmbedder>(another_embedder());
  return *embedder_;
}

Embedder OpenGallery::another_embedder() const { return open_embedder_of(*store_, running_); }

void bind_gallery(py::module_& module) {
  GalleryClass gallery(module, "Gallery");
  gallery.def("expect_model", &expect_model)
      .def("__len__", [](const OpenGallery& g) { return g.snapshot()->size(); })
      .def("__contains__",
           [](const OpenGallery& g, std::int64_t id) { return g.snapshot()->contains(id); })
      .def("info", &info)
      .def(
          "item",
          [](const OpenGallery& g, std::int64_t id) { return dict_of(g.snapshot()->item(id)); },
          py::arg("id"))
      .def("find", &find, py::arg("path"))
      .def("grids", &grids, py::arg("ids"))
      .def("thumbnail", &thumbnail, py::arg("id"))
      .def("verify", &verify, py::arg("progress"));
  bind_gallery_changes(gallery);
  bind_gallery_search(gallery);
  module.def("shown_gallery", &shown_gallery, py::arg("name"));
  module.def("gallery_exists", &gallery_exists, py::arg("name"),
             py::call_guard<py::gil_scoped_release>());
  module.def("create_gallery", &create, py::arg("folder"), py::arg("network"), py::arg("type"),
             py::arg("first_stage"), py::arg("backend"));
  module.def("create_gallery_of_arrays", &create_of_arrays, py::arg("folder"), py::arg("cells"),
             py::arg("dim"), py::arg("type"), py::arg("first_stage"), py::arg("backend"));
  module.def("open_gallery", &open, py::arg("folder"), py::arg("write"), py::arg("network"),
             py::arg("first_stage"), py::arg("backend"));
}

}  // namespace diml::python
