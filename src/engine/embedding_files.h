#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/npy.h"
#include "diml/embedder.h"
#include "diml/evaluate_dataset.h"

namespace diml {

struct EmbeddingFilesParams {
  ArrayType type = ArrayType::float32;  // of cells and globals; float16 halves the
                                        // files, int8 quarters them
  std::size_t cells_per_grid = 0;
  std::size_t dim = 0;
  std::string
      fingerprint{};  // of everything that the numbers depend on: model, grid, list of images
  bool resume = false;
};

// PREFIX.cells.npy, .globals.npy, .labels.npy, .paths.txt, and .roles.npy where there are roles:
// all of them appear at the end. Until then the work lies in PREFIX.partial, from where it goes on
// after an interruption, even a power cut.
class EmbeddingFiles {
 public:
  // Throws when earlier work lies there and `resume` is not wanted, or when it is of other images
  // or of another model, or when another process is at it. The folder of the files must be there.
  EmbeddingFiles(std::string prefix, const LabelledImages& list, EmbeddingFilesParams params);
  ~EmbeddingFiles();
  EmbeddingFiles(const EmbeddingFiles&) = delete;
  EmbeddingFiles& operator=(const EmbeddingFiles&) = delete;

  std::size_t done() const { return done_; }  // images of the list that are dealt with
  std::size_t kept() const { return kept_; }
  std::size_t bad() const { return done_ - kept_; }  // their names and reasons: PREFIX.bad.txt

  // The chunk that begins at done(). Its indices are those of the list.
  void append(const EmbeddedBatch& batch);

  // What was appended outlives the process and the machine. append() calls it now and then.
  void sync();

  // Moves everything in place. All images must have been appended.
  void commit();

 private:
  class Part;
  class Lock;

  std::string partial(const std::string& name) const { return folder_ + "/" + name; }
  bool load_state();  // whether there is work to go on with
  Part& part(const std::string& name);
  void choose_label_type();
  void append_label(std::size_t image);
  void append_floats(const std::string& name, const std::vector<float>& values);

  std::string prefix_;
  std::string folder_;
  const LabelledImages& list_;
  EmbeddingFilesParams params_;
  std::size_t done_ = 0;
  std::size_t kept_ = 0;
  std::size_t unsynced_ = 0;      // images
  std::size_t longest_word_ = 0;  // of the labels, in characters; 0: labels are numbers
  std::unique_ptr<Lock> lock_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace diml
