#include "engine/grid_files.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/label_words.h"
#include "base/npy.h"
#include "base/threads.h"
#include "diml/error.h"

namespace diml {
namespace {

constexpr std::size_t kGridsAtOnce = 64;

[[noreturn]] void refuse(const NpyFile& file, const std::string& wanted) {
  throw Error(file.path() + ": is " + name_of(file.type()) + " " + shape_text(file.shape()) +
              " where " + wanted);
}

void expect_integers(const NpyFile& file) {
  if (!is_integer(file.type())) {
    refuse(file, "integers are wanted: convert it with .astype(numpy.int64)");
  }
}

// noun: what each of them is.
void expect_one_each(const NpyFile& file, std::size_t count, const std::string& noun) {
  if (file.shape().size() != 1) refuse(file, "one " + noun + " an image, [images], is wanted");
  if (file.count() != count) {
    refuse(file, std::to_string(count) + " " + noun + "s are wanted, one for each image");
  }
}

std::vector<std::int64_t> load_integers(const std::string& path, std::size_t count,
                                        const std::string& noun) {
  const NpyFile file(path);
  expect_integers(file);
  expect_one_each(file, count, noun);
  std::vector<std::int64_t> values(count);
  file.read_int64s(0, values);
  return values;
}

}  // namespace

LoadedGrids load_grids(const GridFiles& files, const Progress& progress) {
  const CellFiles from(files.cells, files.globals, files.layout);
  for (const std::size_t image : files.images) {
    if (image >= from.size()) {
      throw Error(files.cells + ": has " + std::to_string(from.size()) +
                  " images, counted from 0: there is no image " + std::to_string(image));
    }
  }
  const std::size_t total = files.images.empty() ? from.size() : files.images.size();
  LoadedGrids loaded{GridSet(total, from.cells_per_grid(), from.dim(), files.storage), from.rows(),
                     from.layout()};
  for (std::size_t k = 0; k < files.images.size(); ++k) {
    from.read(files.images[k], 1, loaded.grids, k);
  }
  // In chunks, so that the progress is told from this thread.
  const std::size_t chunk = std::max<std::size_t>(from.size() / 50, 16 * kGridsAtOnce);
  for (std::size_t first = 0; files.images.empty() && first < from.size(); first += chunk) {
    const std::size_t count = std::min(chunk, from.size() - first);
    parallel_for(count, kGridsAtOnce, files.threads, [&](std::size_t begin, std::size_t end) {
      from.read(first + begin, end - begin, loaded.grids, first + begin);
    });
    progress(first + count, from.size());
  }
  return loaded;
}

std::string LoadedLabels::word_of(std::size_t image) const {
  const std::int64_t value = values[image];
  return names.empty() || value < 0 ? label_word(value) : names[static_cast<std::size_t>(value)];
}

LoadedLabels load_labels(const std::string& path, std::size_t count) {
  const NpyFile file(path);
  if (file.type() != ArrayType::text) return {load_integers(path, count, "label")};
  expect_one_each(file, count, "label");
  std::vector<std::string> words(count);
  file.read_texts(0, words);
  const std::set<std::string> known(words.begin(), words.end());
  LoadedLabels labels;
  std::map<std::string, std::int64_t> values = {{"", kUnlabelled}};
  for (const std::string& word : known) {
    if (word.empty()) continue;
    values.emplace(word, static_cast<std::int64_t>(labels.names.size()));
    labels.names.push_back(word);
  }
  for (const std::string& word : words) labels.values.push_back(values.at(word));
  return labels;
}

std::vector<Role> load_roles(const std::string& path, std::size_t count) {
  std::vector<Role> roles;
  roles.reserve(count);
  for (const std::int64_t value : load_integers(path, count, "role")) {
    if (value < 1 || value > 3) {
      throw Error(path + ": image " + std::to_string(roles.size()) + " has role " +
                  std::to_string(value) + ": write 1 for a query, 2 for the gallery, 3 for both");
    }
    roles.push_back(static_cast<Role>(value));
  }
  return roles;
}

std::vector<Pair> load_pairs(const std::string& path, std::size_t count) {
  const NpyFile file(path);
  expect_integers(file);
  if (file.shape().size() != 2 || file.shape()[1] != 2) {
    refuse(file, "[pairs, 2] is wanted: a (source, target) in each row");
  }
  std::vector<std::int64_t> values(file.count());
  file.read_int64s(0, values);
  std::vector<Pair> pairs(file.shape()[0]);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    pairs[k] = {values[2 * k], values[2 * k + 1]};
    for (const std::int64_t index : {pairs[k].source, pairs[k].target}) {
      if (index < 0 || static_cast<std::size_t>(index) >= count) {
        throw Error(path + ": pair " + std::to_string(k) + " names image " + std::to_string(index) +
                    ", but there are " + std::to_string(count) + ", counted from 0");
      }
    }
  }
  return pairs;
}

}  // namespace diml
