// The gallery's items: lists, adding, changing, deleting.

#include "base/base64.h"
#include "diml/error.h"
#include "engine/source_file.h"
#include "routes.h"
#include "search/item_metadata.h"

namespace diml::server {
namespace {

ItemAnswer answer_of(const Item& item) {
  return {item.id, item.path, path_bytes_of(item), label_of(item), metadata_of(item)};
}

// The snapshot is later than the list: what has changed in between is left out.
ItemsAnswer list_filtered(Service& service, const Call& call, const ListRequest& asked) {
  Filter filter = asked.where;
  if (!asked.path.empty()) filter = filter.with_path_part(asked.path);
  if (asked.label) filter = filter.with_label(*asked.label);
  const IdList ids = service.search.admitted(filter, progress_of(call.patience));
  const std::unique_ptr<GridSnapshot> snapshot = service.gallery->snapshot();
  ItemsAnswer answer{ids->size(), asked.offset, {}};
  for (std::size_t k = asked.offset; k < ids->size() && k - asked.offset < asked.limit; ++k) {
    if (!snapshot->contains((*ids)[k])) continue;
    const Item item = snapshot->item((*ids)[k]);
    if (filter.admits(item)) answer.items.push_back(answer_of(item));
  }
  return answer;
}

Answered<ItemsAnswer> list_items(Service& service, const Call& call, const ListRequest& asked) {
  return service.work(call, [&] {
    if (!asked.path.empty() || !asked.where.empty())
      return Answered(list_filtered(service, call, asked));
    const std::unique_ptr<GridSnapshot> snapshot = service.gallery->snapshot();
    const Catalogue::Page page =
        service.catalogue.page(*snapshot, asked.label, asked.offset, asked.limit);
    ItemsAnswer answer{page.total, asked.offset, {}};
    for (const std::int64_t id : page.ids) {
      // The catalogue may be newer than this snapshot.
      if (snapshot->contains(id)) answer.items.push_back(answer_of(snapshot->item(id)));
    }
    return Answered(answer);
  });
}

Answered<ItemAnswer> get_item(Service& service, const Call& call, const NoFields&) {
  const std::unique_ptr<GridSnapshot> snapshot = service.gallery->snapshot();
  expect_item(*snapshot, call.id);
  return Answered(answer_of(snapshot->item(call.id)));
}

struct Additions {
  std::vector<NewItem> items{};
  std::vector<Crop> crops{};
  Duplicates duplicates = Duplicates::refuse;
};

// As it will be stored. Refusal 413 or 422.
std::string metadata_in(const Json& given) {
  try {
    return checked_metadata(given.dump(), "");
  } catch (const Error& error) {
    throw Refusal(error.kind() == ErrorKind::out_of_resources ? 413 : 422, error.what());
  }
}

// Refusal 400.
std::string path_in(const AddRequest& asked) {
  if (asked.path_bytes.empty()) return asked.path;
  if (!asked.path.empty()) throw Refusal(400, "send 'path' or 'path_bytes', not both");
  const std::optional<std::string> bytes = bytes_of_base64(asked.path_bytes);
  if (!bytes) throw Refusal(400, "'path_bytes' must be base64");
  return *bytes;
}

Additions read_additions(Service& service, const Call& call, const AddRequest& asked) {
  if (!service.embedder) throw Refusal(422, service.why_no_photos);
  const std::string named = path_in(asked);
  if (!named.empty() && asked.images.size() > 1) {
    throw Refusal(400, "'path' names one image; several images get their file names");
  }
  Additions made{.duplicates = asked.duplicates};
  std::string metadata;
  if (asked.metadata != nullptr) metadata = metadata_in(*asked.metadata);
  for (const FormPart* file : asked.images) {
    expect_patience(call.patience);
    NewItem item;
    item.path = named.empty() ? file->filename : named;
    if (item.path.empty() || item.path.size() > kLongestPath) {
      throw Refusal(400, "'path' is missing: the name of the image, up to " +
                             std::to_string(kLongestPath) + " bytes");
    }
    item.label = asked.label.value_or("");
    item.metadata = metadata;
    item.source = source_of_bytes(item.path, file->bytes);
    const Image whole = service.decode(file->bytes);
    item.thumbnail = make_thumbnail(whole);
    made.crops.push_back(service.embedder->crop(whole));
    made.items.push_back(std::move(item));
  }
  return made;
}

Answered<AddedAnswer> add_items(Service& service, const Call& call, const AddRequest& asked) {
  Additions additions = service.work(call, [&] { return read_additions(service, call, asked); });
  GridSet grids = service.embed(call, std::move(additions.crops));
  AddedAnswer answer;
  answer.ids = service.write(call, [gallery = service.gallery, additions = std::move(additions),
                                    grids = std::make_shared<const GridSet>(std::move(grids))] {
    return gallery->add(additions.items, grids->view(), additions.duplicates);
  });
  answer.items = service.search.size();
  return Answered(answer);
}

Answered<ItemAnswer> update_item(Service& service, const Call& call, const UpdateRequest& asked) {
  if (!asked.label && asked.metadata == nullptr) {
    throw Refusal(400, "there is nothing to change: send 'label', 'metadata' or both");
  }
  expect_item(*service.gallery->snapshot(), call.id);
  ItemUpdate update{.id = call.id, .label = asked.label};
  if (asked.metadata != nullptr) update.metadata = metadata_in(*asked.metadata);
  return Answered(service.write(call, [gallery = service.gallery, update] {
    gallery->update({&update, 1});  // not_found if another client was faster
    return answer_of(gallery->snapshot()->item(update.id));
  }));
}

Answered<DeletedAnswer> delete_item(Service& service, const Call& call, const NoFields&) {
  expect_item(*service.gallery->snapshot(), call.id);
  return Answered(service.write(call, [gallery = service.gallery, id = call.id] {
    gallery->remove({&id, 1});  // not_found if another client was faster
    return DeletedAnswer{id, gallery->snapshot()->size()};
  }));
}

}  // namespace

std::vector<Route> item_routes() {
  return {
      route("GET", "/v1/items", list_items,
            {.summary = "Items of the gallery, in the order of the ids"}),
      route("POST", "/v1/items", add_items,
            {.summary = "Adds images: only their grids and thumbnails are stored",
             .access = Access::change,
             .success = 201,
             .refusals = {409, 507}}),
      route("GET", "/v1/items/{id}", get_item,
            {.summary = "One image: path, label and metadata", .refusals = {404}}),
      route("PATCH", "/v1/items/{id}", update_item,
            {.summary = "Changes the label or the metadata of an image; its grid stays",
             .access = Access::change,
             .refusals = {404, 507}}),
      route("DELETE", "/v1/items/{id}", delete_item,
            {.summary = "Removes an image from the gallery",
             .access = Access::change,
             .refusals = {404, 507}}),
  };
}

}  // namespace diml::server
