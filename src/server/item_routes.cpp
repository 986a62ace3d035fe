// What the gallery holds: lists, thumbnails, adding, deleting.

#include "diml/error.h"
#include "routes.h"

namespace diml::server {
namespace {

ItemAnswer answer_of(const Item& item) {
  return {item.id, item.path, item.label, metadata_of(item)};
}

Answered<ItemsAnswer> list_items(Service& service, const Call& call, const ListRequest& asked) {
  return service.work(call, [&] {
    const std::unique_ptr<GridSnapshot> snapshot = service.gallery->snapshot();
    const Catalogue::Page page =
        service.catalogue.page(*snapshot, asked.label, asked.offset, asked.limit);
    ItemsAnswer answer{page.total, asked.offset, {}};
    for (const std::int64_t id : page.ids) {
      // Where the catalogue has seen a later change than this snapshot.
      if (snapshot->contains(id)) answer.items.push_back(answer_of(snapshot->item(id)));
    }
    return Answered(answer);
  });
}

Answered<ItemAnswer> get_item(Service& service, const Call& call, const NoFields&) {
  const std::unique_ptr<GridSnapshot> snapshot = service.gallery->snapshot();
  service.expect_item(*snapshot, call.id);
  return Answered(answer_of(snapshot->item(call.id)));
}

Reply get_thumbnail(Service& service, const Call& call, const NoFields&) {
  const std::unique_ptr<GridSnapshot> snapshot = service.gallery->snapshot();
  service.expect_item(*snapshot, call.id);
  // An id never means another image, but another gallery may be served here tomorrow.
  const std::string tag =
      "\"" + std::to_string(snapshot->birth()) + "-" + std::to_string(call.id) + "\"";
  Reply reply{.type = "image/jpeg",
              .headers = {{"ETag", tag}, {"Cache-Control", "private, no-cache"}}};
  if (call.known_tag == tag) {
    reply.status = 304;
    return reply;
  }
  const std::vector<std::uint8_t> bytes = snapshot->thumbnail(call.id);
  if (bytes.empty()) {
    throw Refusal(404, "item " + std::to_string(call.id) + " has no thumbnail");
  }
  reply.body.assign(bytes.begin(), bytes.end());
  return reply;
}

struct Additions {
  std::vector<NewItem> items{};
  std::vector<Crop> crops{};
  Duplicates duplicates = Duplicates::refuse;
};

Additions read_additions(Service& service, const AddRequest& asked) {
  if (!service.embedder) throw Refusal(422, service.why_no_photos);
  if (!asked.path.empty() && asked.images.size() > 1) {
    throw Refusal(400, "'path' names one image; several are called by their file names");
  }
  Additions made{.duplicates = asked.duplicates};
  std::string metadata;
  if (asked.metadata != nullptr) metadata = asked.metadata->dump();
  for (const FormPart* file : asked.images) {
    NewItem item;
    item.path = asked.path.empty() ? file->filename : asked.path;
    if (item.path.empty() || item.path.size() > kLongestPath) {
      throw Refusal(400, "'path' is missing: what the image is to be called, up to " +
                             std::to_string(kLongestPath) + " bytes");
    }
    item.label = asked.label;
    item.metadata = metadata;
    const Image whole = service.decode(file->bytes);
    item.thumbnail = make_thumbnail(whole);
    made.crops.push_back(service.embedder->crop(whole));
    made.items.push_back(std::move(item));
  }
  return made;
}

Answered<AddedAnswer> add_items(Service& service, const Call& call, const AddRequest& asked) {
  Additions additions = service.work(call, [&] { return read_additions(service, asked); });
  const GridSet grids = service.embed(call, std::move(additions.crops));
  return service.work(call, [&] {
    AddedAnswer answer;
    try {
      answer.ids = service.gallery->add(additions.items, grids.view(), additions.duplicates);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::conflict) throw;
      throw Refusal(409, error.what() + std::string(" (in a request: duplicates=replace)"));
    }
    answer.items = service.search.size();
    return Answered(answer);
  });
}

Answered<DeletedAnswer> delete_item(Service& service, const Call& call, const NoFields&) {
  return service.work(call, [&] {
    service.expect_item(*service.gallery->snapshot(), call.id);
    service.gallery->remove({&call.id, 1});  // not_found where somebody else was faster
    return Answered(DeletedAnswer{call.id, service.gallery->snapshot()->size()});
  });
}

}  // namespace

std::vector<Route> item_routes() {
  return {
      route("GET", "/v1/items", list_items,
            {.summary = "What the gallery holds, in the order of the ids"}),
      route("POST", "/v1/items", add_items,
            {.summary = "Adds images: their grids and thumbnails are stored, nothing else of them",
             .access = Access::change,
             .success = 201,
             .refusals = {409}}),
      route("GET", "/v1/items/{id}", get_item,
            {.summary = "One image: path, label and metadata", .refusals = {404}}),
      route("DELETE", "/v1/items/{id}", delete_item,
            {.summary = "Takes an image out of the gallery",
             .access = Access::change,
             .refusals = {404}}),
      route("GET", "/v1/items/{id}/thumbnail", get_thumbnail,
            {.summary = "A small picture of it", .answer_type = "image/jpeg", .refusals = {404}}),
  };
}

}  // namespace diml::server
