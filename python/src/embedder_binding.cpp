#include <pybind11/stl.h>

#include "embedder.h"
#include "images.h"

namespace diml::python {
namespace {

// Arrays that Python made; written while other threads run.
struct Rows {
  py::array_t<float> cells;
  py::array_t<float> globals;
  float* cell_data;
  float* global_data;
  std::size_t of_grid;
  std::size_t dim;

  Rows(std::size_t rows, const Embedder& embedder)
      : cells({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(embedder.cells_per_grid()),
               static_cast<py::ssize_t>(embedder.dim())}),
        globals({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(embedder.dim())}),
        cell_data(cells.mutable_data()),
        global_data(globals.mutable_data()),
        of_grid(embedder.cells_per_grid() * embedder.dim()),
        dim(embedder.dim()) {}

  void put(const EmbeddedBatch& batch, std::size_t first) const {
    std::copy(batch.cells.begin(), batch.cells.end(), cell_data + first * of_grid);
    std::copy(batch.globals.begin(), batch.globals.end(), global_data + first * dim);
  }
};

// (cells, globals, rows, why): rows, of the given ones, are those that could be read; the first
// rows of the arrays are theirs. why: of the others.
py::tuple embed_files(SharedEmbedder& shared, const std::vector<std::string>& paths,
                      const std::string& orientation, bool skip_bad, const py::object& progress) {
  const EmbedFilesParams params{orientation_from(orientation),
                                skip_bad ? BadImages::skip : BadImages::stop};
  const Rows rows(paths.size(), shared.about());
  const Watch watch(progress);
  std::vector<std::size_t> kept;
  std::vector<std::string> why;
  watch.run([&] {
    const SharedEmbedder::Turn embedder(shared);
    embedder->embed_files(
        paths, params,
        [&](const EmbeddedBatch& batch) {
          rows.put(batch, kept.size());
          kept.insert(kept.end(), batch.indices.begin(), batch.indices.end());
          for (const BadImage& bad : batch.bad) why.push_back(bad.why);
        },
        watch.progress());
  });
  return py::make_tuple(rows.cells, rows.globals, array_of(kept), why);
}

constexpr std::size_t kAtOnce = 64;  // pictures between two looks at Ctrl-C

py::tuple embed_pictures(SharedEmbedder& shared, const py::list& pictures,
                         const py::object& progress) {
  const Rows rows(pictures.size(), shared.about());
  const Progress report = progress_to(progress);
  for (std::size_t first = 0; first < pictures.size(); first += kAtOnce) {
    std::vector<Image> images;
    for (std::size_t i = first; i < std::min(pictures.size(), first + kAtOnce); ++i) {
      images.push_back(image_of(pictures[i].cast<Pixels>()));
    }
    const py::gil_scoped_release without_gil;
    {
      const SharedEmbedder::Turn embedder(shared);
      embedder->embed(images, {rows.cell_data + first * rows.of_grid, images.size() * rows.of_grid},
                      {rows.global_data + first * rows.dim, images.size() * rows.dim});
    }
    report(first + images.size(), pictures.size());
  }
  return py::make_tuple(rows.cells, rows.globals);
}

std::shared_ptr<SharedEmbedder> open(const py::dict& given) {
  const EmbeddingParams params = embedding_params(given);
  const py::gil_scoped_release without_gil;
  return std::make_shared<SharedEmbedder>(open_embedder(params));
}

py::dict about(const SharedEmbedder& shared) {
  const Embedder& embedder = shared.about();
  py::dict about;
  about["model"] = embedder.params().model;
  about["grid"] = embedder.params().grid;
  about["cells"] = embedder.cells_per_grid();
  about["dim"] = embedder.dim();
  about["network"] = embedder.network_name();
  about["embedding"] = embedder.format().embedding;
  return about;
}

}  // namespace

EmbeddingParams embedding_params(const py::dict& given) {
  EmbeddingParams params;
  for (const auto& [key, value] : given) {
    const auto name = key.cast<std::string>();
    const auto whole = [&, &value = value] {
      if (!PyIndex_Check(value.ptr())) throw py::type_error(name + ": a whole number is wanted");
      return value.cast<std::int64_t>();
    };
    const auto text = [&, &value = value] {
      if (!PyUnicode_Check(value.ptr())) throw py::type_error(name + ": a word is wanted");
      return value.cast<std::string>();
    };
    if (name == "model") {
      params.model = text();
    } else if (name == "grid") {
      const std::int64_t grid = whole();
      if (grid < 1 || grid > 14) throw Error("grid is 1 to 14 cells a side");
      params.grid = static_cast<std::size_t>(grid);
    } else if (name == "pooling") {
      params.pooling = pooling_rule_from(text());
    } else if (name == "projection") {
      params.projection = value.cast<bool>();
    } else if (name == "preprocessing") {
      params.preprocessing = value.cast<std::map<std::string, std::string>>();
    } else if (name == "network") {
      params.backend = network_backend_from(text());
    } else if (name == "precision") {
      params.precision = precision_from(text());
    } else if (name == "device") {
      params.device = text();
    } else if (name == "batch") {
      const std::int64_t batch = whole();
      if (batch < 1) throw Error("batch is 1 or more images in one forward pass");
      params.batch = static_cast<std::size_t>(batch);
    } else {
      throw Error("an embedder has no setting '" + name + "'");
    }
  }
  params.threads = threads();
  return params;
}

SharedEmbedder::Turn::Turn(SharedEmbedder& shared) : shared_(shared) {
  if (shared.holder_ == std::this_thread::get_id()) {
    throw Error(ErrorKind::conflict, "the embedder is at work: its progress function embeds too");
  }
  shared.mutex_.lock();
  shared.holder_ = std::this_thread::get_id();
}

SharedEmbedder::Turn::~Turn() {
  shared_.holder_ = std::thread::id();
  shared_.mutex_.unlock();
}

void bind_embedder(py::module_& module) {
  py::class_<SharedEmbedder, std::shared_ptr<SharedEmbedder>>(module, "Embedder")
      .def_property_readonly("about", &about)
      .def("embed_files", &embed_files, py::arg("paths"), py::arg("orientation"),
           py::arg("skip_bad"), py::arg("progress"))
      .def("embed_pictures", &embed_pictures, py::arg("pictures"), py::arg("progress"));
  module.def("open_embedder", &open, py::arg("params"));
}

}  // namespace diml::python
