#include "cli/photo_folder.h"

#include <filesystem>
#include <sstream>

#include "critters/critters.h"
#include "diml/dataset.h"
#include "models/model.h"

namespace diml::test {
namespace {

namespace fs = std::filesystem;

Arguments joined(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

PhotoFolder::PhotoFolder() {
  Model model = make_model("small", StridePlace::in_3x3, kDim, 1);
  model.preprocessing.resize = 72;
  model.preprocessing.crop = 64;
  save_model(at("small.safetensors"), model);
  write_critters(at("critters"), {.classes = 6, .images_per_class = kOfClass, .size = 64});
}

Arguments PhotoFolder::embed(const Arguments& more) {
  return joined({"embed", "--model", "small.safetensors"}, more);
}

Arguments PhotoFolder::embed_critters(const std::string& out, const Arguments& more) {
  return joined(embed({"--dataset", "critters", "--root", "critters", "--out", out}), more);
}

nlohmann::json PhotoFolder::evaluated_photos(const Arguments& more) const {
  nlohmann::json json = nlohmann::json::parse(
      run_well(joined({"evaluate", "--model", "small.safetensors", "--json", "-"}, more)));
  EXPECT_GT(json.at("seconds").at("embed").get<double>(), 0.0);
  json.erase("seconds");
  return json;
}

nlohmann::json PhotoFolder::evaluated_files(const std::string& prefix,
                                            const Arguments& more) const {
  nlohmann::json json = nlohmann::json::parse(
      run_well(joined({"evaluate", "--cells", prefix + ".cells.npy", "--globals",
                       prefix + ".globals.npy", "--labels", prefix + ".labels.npy", "--json", "-"},
                      more)));
  json.erase("seconds");
  return json;
}

std::vector<std::string> PhotoFolder::photos() const {
  std::vector<std::string> paths;
  for (const Sample& sample : load_dataset("critters", at("critters"), Split::test).samples) {
    paths.push_back(fs::relative(sample.path, folder_.path()).string());
  }
  return paths;
}

void PhotoFolder::put_photo(std::size_t photo, const std::string& name) const {
  put_text(name, bytes_of(at(photos().at(photo))));
}

void PhotoFolder::put_text(const std::string& name, const std::string& text) const {
  fs::create_directories(fs::path(at(name)).parent_path());
  write_bytes(at(name), text);
}

std::vector<float> PhotoFolder::floats_in(const std::string& name) const {
  const NpyFile file(at(name));
  std::vector<float> values(file.count());
  file.read_floats(0, values);
  return values;
}

std::vector<std::int64_t> PhotoFolder::integers_in(const std::string& name) const {
  const NpyFile file(at(name));
  std::vector<std::int64_t> values(file.count());
  file.read_int64s(0, values);
  return values;
}

std::vector<std::string> PhotoFolder::lines_in(const std::string& name) const {
  std::istringstream text(bytes_of(at(name)));
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(text, line)) lines.push_back(line);
  return lines;
}

std::vector<std::size_t> PhotoFolder::shape_of(const std::string& name) const {
  return NpyFile(at(name)).shape();
}

std::vector<std::pair<std::string, std::string>> PhotoFolder::files_of(
    const std::string& prefix) const {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& name : folder_.names()) {
    if (name.find(prefix + ".") != 0) continue;
    const std::string path = at(name);
    files.emplace_back(name.substr(prefix.size()), fs::is_directory(path) ? "" : bytes_of(path));
  }
  return files;
}

}  // namespace diml::test
