// What the gallery holds: lists, thumbnails, adding, deleting.

#include <algorithm>

#include "diml/error.h"
#include "routes.h"
#include "schemas.h"

namespace diml::server {
namespace {

constexpr std::size_t kMostListed = 1000;
constexpr std::size_t kMostAdded = 64;  // images of one request
constexpr std::size_t kLongestPath = 4096;

Json json_of(const GalleryItem& item) {
  return {{"id", item.id},
          {"path", item.path},
          {"label", item.label},
          {"metadata", Json::parse(item.metadata)}};
}

Reply list_items(Service& service, const Call& call) {
  return service.work(call, [&] {
    const Input input(call);
    input.expect_only({"offset", "limit", "label"});
    const std::size_t offset = input.whole("offset", 0, SIZE_MAX / 2, 0);
    const std::size_t limit = input.whole("limit", 1, kMostListed, 50);
    const std::optional<std::int64_t> label = input.integer("label");
    const std::shared_ptr<const Catalogue> all = service.catalogue();
    static const std::vector<std::int64_t> nobody;
    const std::vector<std::int64_t>* ids = &all->ids;
    if (label) {
      const auto found = all->by_label.find(*label);
      ids = found == all->by_label.end() ? &nobody : &found->second;
    }
    const GallerySnapshot snapshot = service.gallery.snapshot();
    Json items = Json::array();
    for (std::size_t k = offset; k < ids->size() && k - offset < limit; ++k) {
      // Deleted a moment ago, and not yet off the list.
      if (snapshot.contains((*ids)[k])) items.push_back(json_of(snapshot.item((*ids)[k])));
    }
    return json_reply({{"total", ids->size()}, {"offset", offset}, {"items", std::move(items)}});
  });
}

Reply get_item(Service& service, const Call& call) {
  const GallerySnapshot snapshot = service.gallery.snapshot();
  service.expect_item(snapshot, call.id);
  return json_reply(json_of(snapshot.item(call.id)));
}

Reply get_thumbnail(Service& service, const Call& call) {
  const GallerySnapshot snapshot = service.gallery.snapshot();
  service.expect_item(snapshot, call.id);
  // An id never means another image, but another gallery may be served here tomorrow.
  const std::string tag =
      "\"" + std::to_string(snapshot.birth()) + "-" + std::to_string(call.id) + "\"";
  Reply reply{.type = "image/jpeg",
              .headers = {{"ETag", tag}, {"Cache-Control", "private, no-cache"}}};
  if (call.known_tag == tag) {
    reply.status = 304;
    return reply;
  }
  const std::vector<std::uint8_t> bytes = snapshot.thumbnail(call.id);
  if (bytes.empty()) {
    throw Refusal(404, "item " + std::to_string(call.id) + " has no thumbnail");
  }
  reply.body.assign(bytes.begin(), bytes.end());
  return reply;
}

struct Additions {
  std::vector<NewItem> items;
  std::vector<Crop> crops;
  Duplicates duplicates = Duplicates::refuse;
};

Additions read_additions(Service& service, const Call& call) {
  const Input input(call);
  input.expect_only({"image", "path", "label", "metadata", "duplicates"});
  if (input.files().empty()) {
    throw Refusal(400, "the file 'image' is missing: send a form with one, or several");
  }
  if (input.files().size() > kMostAdded) {
    throw Refusal(413, "more than " + std::to_string(kMostAdded) + " images: send fewer at a time");
  }
  if (!service.embedder) throw Refusal(422, service.why_no_photos);
  Additions made;
  const std::string path = input.text("path", "");
  if (!path.empty() && input.files().size() > 1) {
    throw Refusal(400, "'path' names one image; several are called by their file names");
  }
  std::string metadata;
  if (const Json* given = input.field("metadata")) {
    if (!given->is_object()) throw Refusal(400, "'metadata' must be a JSON object");
    metadata = text_of(*given);
  }
  if (input.word("duplicates", {"refuse", "replace"}, "refuse") == "replace") {
    made.duplicates = Duplicates::replace;
  }
  for (const FormPart& file : input.files()) {
    NewItem item;
    item.path = path.empty() ? file.filename : path;
    if (item.path.empty() || item.path.size() > kLongestPath) {
      throw Refusal(400, "'path' is missing: what the image is to be called, up to " +
                             std::to_string(kLongestPath) + " bytes");
    }
    item.label = input.integer("label").value_or(-1);
    item.metadata = metadata;
    const Image whole = service.decode(file.bytes);
    item.thumbnail = make_thumbnail(whole);
    made.crops.push_back(service.embedder->crop(whole));
    made.items.push_back(std::move(item));
  }
  return made;
}

Reply add_items(Service& service, const Call& call) {
  Additions additions = service.work(call, [&] { return read_additions(service, call); });
  const StoredGrids grids = service.embed(call, std::move(additions.crops));
  return service.work(call, [&] {
    std::vector<std::int64_t> ids;
    try {
      ids = service.gallery.add(additions.items, grids.view(), additions.duplicates);
    } catch (const Error& error) {
      const std::string why = error.what();
      const std::size_t known = why.find(": is in the gallery already");
      if (known == std::string::npos) throw;
      throw Refusal(409, why.substr(0, known) +
                             ": is in the gallery already: duplicates=replace takes the new one");
    }
    service.refresh();
    return json_reply({{"ids", ids}, {"items", service.search.size()}}, 201);
  });
}

Reply delete_item(Service& service, const Call& call) {
  return service.work(call, [&] {
    service.expect_item(service.gallery.snapshot(), call.id);
    try {
      service.gallery.remove({&call.id, 1});
    } catch (const Error&) {
      // Somebody else was faster.
      service.expect_item(service.gallery.snapshot(), call.id);
      throw;
    }
    return json_reply({{"id", call.id}, {"items", service.gallery.snapshot().size()}});
  });
}

}  // namespace

std::vector<Route> item_routes() {
  return {
      {.method = "GET",
       .path = "/v1/items",
       .summary = "What the gallery holds, in the order of the ids",
       .parameters = Json::array({query_parameter("offset", "integer", "How many to pass over (0)"),
                                  query_parameter("limit", "integer", "How many at most (50)"),
                                  query_parameter("label", "integer", "Of this label alone")}),
       .answer = "Items",
       .handle = list_items},
      {.method = "POST",
       .path = "/v1/items",
       .access = Access::change,
       .summary = "Adds images: their grids and thumbnails are stored, nothing else of them",
       .request = form_content({"image"}, {"path", "label", "metadata", "duplicates"}),
       .success = 201,
       .answer = "Added",
       .refusals = {409},
       .handle = add_items},
      {.method = "GET",
       .path = "/v1/items/{id}",
       .summary = "One image: path, label and metadata",
       .answer = "Item",
       .refusals = {404},
       .handle = get_item},
      {.method = "DELETE",
       .path = "/v1/items/{id}",
       .access = Access::change,
       .summary = "Takes an image out of the gallery",
       .answer = "Deleted",
       .refusals = {404},
       .handle = delete_item},
      {.method = "GET",
       .path = "/v1/items/{id}/thumbnail",
       .summary = "A small picture of it",
       .answer_type = "image/jpeg",
       .answer = "",
       .refusals = {404},
       .handle = get_thumbnail},
  };
}

}  // namespace diml::server
