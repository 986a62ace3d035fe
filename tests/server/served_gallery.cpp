#include "server/served_gallery.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "critters/critters.h"
#include "models/model.h"

namespace diml::test {
namespace {

constexpr int kQuality = 92;

Image picture(std::size_t image, std::size_t of_class) {
  return draw_critter({.classes = 6, .images_per_class = 4, .size = 96}, image / of_class,
                      image % of_class)
      .image;
}

Embedder opened(const std::string& model) {
  return open_embedder({.model = model, .grid = 4, .batch = 8});
}

std::shared_ptr<GridStore> make_gallery(const TemporaryFolder& folder, std::size_t dim,
                                        std::size_t images, std::size_t of_class) {
  const std::string model = folder / "small.safetensors";
  save_model(model, make_model("small", StridePlace::in_3x3, dim, 1));
  Embedder embedder = opened(model);
  const std::shared_ptr<GridStore> gallery = create_gallery(folder / "g", embedder.format());
  std::vector<NewItem> items;
  std::vector<Image> pictures;
  for (std::size_t i = 0; i < images; ++i) {
    // As a browser or curl would send it.
    const std::vector<std::uint8_t> jpeg = encode_jpeg(picture(i, of_class), kQuality);
    pictures.push_back(decode_image(jpeg));
    items.push_back({"critters/" + std::to_string(i) + ".jpg", std::to_string(i / of_class),
                     "{\"number\": " + std::to_string(i) + "}", make_thumbnail(pictures.back())});
  }
  gallery->add(items, embedder.embed(pictures, gallery->format().type).view());
  return gallery;
}

}  // namespace

ServedGallery::ServedGallery() : gallery_(make_gallery(folder_, kDim, kImages, kOfClass)) {
  serve();
}

void ServedGallery::serve(ServerParams params) {
  server_.reset();
  params.port = 0;
  auto embedder = std::make_unique<Embedder>(opened(folder_ / "small.safetensors"));
  server_ = std::make_unique<Server>(gallery_, std::move(embedder), "", params);
}

void ServedGallery::serve_without_network() {
  server_.reset();
  server_ = std::make_unique<Server>(gallery_, nullptr, "no photos here", ServerParams{.port = 0});
}

HttpClient ServedGallery::client() const {
  HttpClient made(server_->port());
  return made;
}

HttpResult ServedGallery::post_json(const std::string& path, const Json& body) const {
  return client().post(path, body.dump(), "application/json");
}

Json ServedGallery::posted(const std::string& path, const Json& body) const {
  const HttpResult answer = post_json(path, body);
  if (!answer || answer->status / 100 != 2) {
    ADD_FAILURE() << path << " " << (answer ? answer->body : "no answer");
    return {};
  }
  return Json::parse(answer->body);
}

Json ServedGallery::got(const std::string& path) const {
  const HttpResult answer = client().get(path);
  if (!answer || answer->status != 200) {
    ADD_FAILURE() << path << " " << (answer ? answer->body : "no answer");
    return {};
  }
  return Json::parse(answer->body);
}

void ServedGallery::expect_refused(const HttpResult& answer, int status,
                                   const std::string& why) const {
  ASSERT_TRUE(answer) << "no answer";
  EXPECT_EQ(answer->status, status) << answer->body;
  EXPECT_EQ(answer->header("Content-Type"), "application/json");
  const std::string line = Json::parse(answer->body).at("error");
  EXPECT_NE(line.find(why), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

int ServedGallery::raw_socket() const {
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(made, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    ADD_FAILURE() << "cannot connect";
  }
  return made;
}

std::string ServedGallery::raw(const std::string& bytes) const {
  const int socket = raw_socket();
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  std::string answer;
  char block[4096];
  for (ssize_t count = 0; (count = ::recv(socket, block, sizeof(block), 0)) > 0;) {
    answer.append(block, static_cast<std::size_t>(count));
  }
  ::close(socket);
  return answer;
}

std::string ServedGallery::photo(std::size_t image) {
  const std::vector<std::uint8_t> bytes = encode_jpeg(picture(image, kOfClass), kQuality);
  return {bytes.begin(), bytes.end()};
}

double ServedGallery::metric(const std::string& name) const {
  const HttpResult answer = client().get("/metrics");
  if (!answer) return -1.0;
  const std::size_t at = answer->body.find("\n" + name + " ");
  if (at == std::string::npos) return -1.0;
  return std::stod(answer->body.substr(at + name.size() + 2));
}

}  // namespace diml::test
