#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "diml/gallery_images.h"
#include "diml/server.h"
#include "server/http_client.h"

namespace diml::test {

using Json = nlohmann::json;

// A gallery of critters, six classes of four, embedded by a small network with random weights, and
// a server of it on a free port.
class ServedGallery : public testing::Test {
 protected:
  static constexpr std::size_t kClasses = 6;
  static constexpr std::size_t kOfClass = 4;
  static constexpr std::size_t kImages = kClasses * kOfClass;
  static constexpr std::size_t kDim = 16;

  ServedGallery();

  // Replaces the server by one with other parameters. port is always 0.
  void serve(ServerParams params = {});
  void serve_without_network();

  HttpClient client() const;
  HttpResult post_json(const std::string& path, const Json& body) const;
  // The answer to a call that must succeed.
  Json posted(const std::string& path, const Json& body) const;
  Json got(const std::string& path) const;

  // The call is refused with this status and one line that contains `why`.
  void expect_refused(const HttpResult& answer, int status, const std::string& why) const;

  // The answer to raw bytes, until the server closes the connection.
  std::string raw(const std::string& bytes) const;
  int raw_socket() const;

  // An image of the gallery, as a JPEG file.
  static std::string photo(std::size_t image);
  // The values of this name in /metrics.
  double metric(const std::string& name) const;

  const TemporaryFolder folder_;
  std::shared_ptr<GridStore> gallery_;
  std::unique_ptr<Server> server_;
};

}  // namespace diml::test
