#include <pybind11/stl.h>

#include <filesystem>

#include "datasets/images_below.h"
#include "diml/gallery_images.h"
#include "engine/gallery_files.h"
#include "engine/index_gallery.h"
#include "engine/known_items.h"
#include "engine/sync_folder.h"
#include "gallery.h"
#include "images.h"

namespace diml::python {
namespace {

using Words = std::vector<std::optional<std::string>>;

// names: as the gallery keeps them. labels, metadata: [names] or empty; None is not given.
std::vector<ImageToAdd> images_to_add(const std::vector<std::string>& files,
                                      const std::vector<std::string>& names, const Words& labels,
                                      const Words& metadata) {
  std::vector<ImageToAdd> images;
  images.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    ImageToAdd image{files.empty() ? "" : files[i], {.path = names[i]}};
    if (!labels.empty() && labels[i]) {
      image.item.label = *labels[i];
      image.gives_label = true;
    }
    if (!metadata.empty() && metadata[i]) image.item.metadata = *metadata[i];
    images.push_back(std::move(image));
  }
  return images;
}

py::dict dict_of(const AddReport& report, std::size_t items) {
  py::dict done;
  done["items"] = items;
  done["added"] = report.added;
  done["replaced"] = report.replaced;
  done["known"] = report.known;
  done["updated"] = report.updated;
  done["changed_on_disk"] = report.changed;
  done["bad"] = report.bad;
  return done;
}

py::dict add_files(OpenGallery& gallery, const std::vector<std::string>& files, const Words& labels,
                   const Words& metadata, bool replace, bool skip_bad,
                   const std::string& orientation, const py::object& progress) {
  const AddImagesParams params{orientation_from(orientation),
                               skip_bad ? BadImages::skip : BadImages::stop,
                               replace ? KnownPaths::replace : KnownPaths::skip};
  const Watch watch(progress);
  AddReport report;
  std::size_t items = 0;
  {
    const py::gil_scoped_release without_gil;
    std::vector<std::string> names;
    names.reserve(files.size());
    // The gallery is opened from other folders too.
    for (const std::string& file : files) {
      names.push_back(std::filesystem::absolute(file).lexically_normal().string());
    }
    const std::vector<ImageToAdd> images = images_to_add(files, names, labels, metadata);
    // Words alone need no network.
    std::optional<AddReport> updated;
    if (!replace) updated = update_images(gallery.store(), images);
    if (updated) {
      report = std::move(*updated);
    } else {
      const SharedEmbedder::Turn embedder(gallery.embedder());
      report = add_images(gallery.store(), *embedder, images, params, watch.progress());
    }
    items = gallery.store().snapshot()->size();
  }
  watch.rethrow();
  return dict_of(report, items);
}

constexpr std::size_t kAtOnce = 256;  // grids of one transaction

py::dict add_grids(OpenGallery& gallery, const std::shared_ptr<Grids>& grids,
                   const std::vector<std::string>& names, const Words& labels,
                   const Words& metadata, bool replace, const py::object& progress) {
  const Watch watch(progress);
  AddReport report;
  std::size_t items = 0;
  {
    const py::gil_scoped_release without_gil;
    const std::vector<ImageToAdd> images = images_to_add({}, names, labels, metadata);
    const GridSet all = gallery.stored_as(*grids);
    const KnownPaths known = replace ? KnownPaths::replace : KnownPaths::skip;
    const PathsToAdd to_add = paths_to_add(*gallery.store().snapshot(), images, known);
    report.known = to_add.known;
    update_known(gallery.store(), images, to_add.there, report);
    const Progress progress_of_watch = watch.progress();
    for (std::size_t first = 0; first < to_add.wanted.size(); first += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, to_add.wanted.size() - first);
      std::vector<NewItem> some;
      std::vector<GridView> views;
      {
        const std::unique_ptr<GridSnapshot> before = gallery.store().snapshot();
        for (std::size_t k = 0; k < count; ++k) {
          const std::size_t place = to_add.wanted[first + k];
          some.push_back(images[place].item);
          views.push_back(all[place]);
          const std::optional<std::int64_t> there = before->find(some.back().path);
          if (!replace || !there) continue;
          keep_words(before->item(*there), images[place], some.back());
          ++report.replaced;
        }
      }
      gallery.store().add(some, set_of(views), replace ? Duplicates::replace : Duplicates::refuse);
      report.added += count;
      progress_of_watch(first + count, to_add.wanted.size());
      if (progress_of_watch.cancelled()) break;
    }
    items = gallery.store().snapshot()->size();
  }
  watch.rethrow();
  return dict_of(report, items);
}

void update(OpenGallery& gallery, const std::vector<std::int64_t>& ids, const Words& labels,
            const Words& metadata) {
  std::vector<ItemUpdate> updates;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ItemUpdate one{.id = ids[i]};
    if (!labels.empty()) one.label = labels[i];
    if (!metadata.empty()) one.metadata = metadata[i];
    updates.push_back(std::move(one));
  }
  const py::gil_scoped_release without_gil;
  gallery.store().update(updates);
}

void remove(OpenGallery& gallery, const std::vector<std::int64_t>& ids) {
  const py::gil_scoped_release without_gil;
  gallery.store().remove(ids);
}

std::vector<std::string> images_of(const std::string& folder) {
  const py::gil_scoped_release without_gil;
  ImagesBelow found = images_below(folder);
  if (found.paths.empty()) {
    throw Error(ErrorKind::not_found,
                folder + ": has no " + readable_image_formats() + " files in it");
  }
  return std::move(found.paths);
}

py::dict dict_of(const SyncPlan& plan) {
  py::dict done;
  done["photos"] = plan.photos;
  done["added"] = plan.count(SyncAction::add);
  done["replaced"] = plan.count(SyncAction::replace);
  done["removed"] = plan.to_remove.size();
  done["labels"] = plan.count(SyncAction::label);
  done["unchanged"] = plan.unchanged();
  done["without_record"] = plan.count(SyncAction::compare);
  done["elsewhere"] = plan.elsewhere;
  done["kept_labels"] = plan.kept_labels;
  py::list steps;
  for (const SyncStep& step : plan.steps) {
    py::dict one;
    one["action"] = name_of(step.action);
    one["path"] = step.path;
    steps.append(one);
  }
  done["steps"] = steps;
  return done;
}

py::dict sync(OpenGallery& gallery, const std::string& folder, const std::string& labels,
              bool dry_run, bool force, bool skip_bad, const py::object& progress) {
  SyncParams params;
  params.labels = folder_labels_from(labels);
  params.removals = force ? Removals::all : Removals::at_most_half;
  params.bad = skip_bad ? BadImages::skip : BadImages::stop;
  params.threads = threads();
  const Watch comparing{py::none()};
  const Watch embedding(progress);
  SyncPlan plan;
  SyncReport report;
  std::size_t items = 0;
  comparing.run([&] {
    MetadataByPath none;
    plan = plan_sync(*gallery.store().snapshot(), folder, none, params, comparing.progress());
  });
  embedding.run([&] {
    if (!dry_run) {
      report = apply_sync(
          gallery.store(), plan, [&] { return gallery.another_embedder(); }, params,
          embedding.progress());
    }
    items = gallery.store().snapshot()->size();
  });
  py::dict done = dict_of(plan);
  done["items"] = items;
  done["bad"] = report.bad;
  if (!dry_run) {
    done["added"] = report.added;
    done["replaced"] = report.replaced;
  }
  return done;
}

py::dict build_index(OpenGallery& gallery, const std::string& kind, const py::object& progress) {
  const Progress report = progress_to(progress);
  StoreIndex made;
  {
    const py::gil_scoped_release without_gil;
    made = index_gallery(gallery.store(), kind, threads(), report, ended_by_ctrl_c());
  }
  py::dict done;
  done["kind"] = made.kind;
  done["items"] = made.items;
  done["bytes"] = made.bytes;
  done["seconds"] = made.seconds;
  done["recall"] = made.recall;
  return done;
}

}  // namespace

void bind_gallery_changes(GalleryClass& gallery) {
  gallery
      .def("add_files", &add_files, py::arg("files"), py::arg("labels"), py::arg("metadata"),
           py::arg("replace"), py::arg("skip_bad"), py::arg("orientation"), py::arg("progress"))
      .def("add_grids", &add_grids, py::arg("grids"), py::arg("names"), py::arg("labels"),
           py::arg("metadata"), py::arg("replace"), py::arg("progress"))
      .def("update", &update, py::arg("ids"), py::arg("labels"), py::arg("metadata"))
      .def("remove", &remove, py::arg("ids"))
      .def("build_index", &build_index, py::arg("kind"), py::arg("progress"))
      .def("sync", &sync, py::arg("folder"), py::arg("labels"), py::arg("dry_run"),
           py::arg("force"), py::arg("skip_bad"), py::arg("progress"));
  gallery.def_static("images_below", &images_of, py::arg("folder"));
}

}  // namespace diml::python
