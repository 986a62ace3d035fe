// The pictures of items: their thumbnails, and the photos themselves where they can be read.

#include "own_photo.h"
#include "routes.h"

namespace diml::server {
namespace {

constexpr int kPhotoQuality = 90;

Reply picture_reply(const std::string& tag) {
  return {.type = "image/jpeg", .headers = {{"ETag", tag}, {"Cache-Control", "private, no-cache"}}};
}

// An id always names the same image, but later another gallery may be served at this address.
std::string tag_of(const GridSnapshot& snapshot, std::int64_t id, const std::string& version) {
  std::string tag = "\"";
  tag.append(std::to_string(snapshot.birth())).append("-").append(std::to_string(id));
  return tag.append(version).append("\"");
}

Reply get_thumbnail(Service& service, const Call& call, const NoFields&) {
  const std::unique_ptr<GridSnapshot> snapshot = service.gallery->snapshot();
  expect_item(*snapshot, call.id);
  const std::string tag = tag_of(*snapshot, call.id, "");
  Reply reply = picture_reply(tag);
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

// Encoded again: the answer has pixels only, without the place and the camera that a photo's file
// may name.
Reply get_photo(Service& service, const Call& call, const NoFields& nothing) {
  const std::unique_ptr<GridSnapshot> snapshot = service.gallery->snapshot();
  expect_item(*snapshot, call.id);
  if (service.params.originals == Originals::shown) {
    const std::string path = snapshot->item(call.id).path;
    const ServerLimits& limits = service.params.limits;
    if (const auto version = version_of_file(path, limits)) {
      const std::string tag = tag_of(*snapshot, call.id, "-photo-" + *version);
      Reply reply = picture_reply(tag);
      if (call.known_tag == tag) {
        reply.status = 304;
        return reply;
      }
      const bool found = service.work(call, [&] {
        const auto photo = own_photo(path, snapshot->thumbnail(call.id), limits);
        if (!photo) return false;
        const std::vector<std::uint8_t> bytes = encode_jpeg(*photo, kPhotoQuality);
        reply.body.assign(bytes.begin(), bytes.end());
        return true;
      });
      if (found) return reply;
    }
  }
  Reply reply = get_thumbnail(service, call, nothing);
  reply.headers.emplace_back("Content-Location",
                             "/v1/items/" + std::to_string(call.id) + "/thumbnail");
  return reply;
}

}  // namespace

std::vector<Route> picture_routes() {
  return {
      route(
          "GET", "/v1/items/{id}/thumbnail", get_thumbnail,
          {.summary = "The thumbnail of an image", .answer_type = "image/jpeg", .refusals = {404}}),
      route("GET", "/v1/items/{id}/photo", get_photo,
            {.summary = "The photo itself where the server can read its file; otherwise the "
                        "thumbnail, with its address in Content-Location",
             .answer_type = "image/jpeg",
             .refusals = {404}}),
  };
}

}  // namespace diml::server
