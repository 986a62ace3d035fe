#include "demo_gallery.h"

#include <cstdio>
#include <filesystem>

#include "base/output_file.h"
#include "diml/dataset.h"
#include "diml/evaluate_dataset.h"
#include "diml/explain.h"
#include "diml/figure.h"
#include "diml/gallery_images.h"
#include "print_explanation.h"
#include "progress_bar.h"

namespace diml::cli {

void leave_gallery(const std::string& folder, const std::string& model, const std::string& pictures,
                   std::size_t source, std::size_t target) {
  const LabelledImages labelled = labelled_images(load_dataset("critters", pictures, Split::test));
  std::vector<ImageToAdd> images;
  for (std::size_t k = 0; k < labelled.paths.size(); ++k) {
    const std::string path =
        std::filesystem::absolute(labelled.paths[k]).lexically_normal().string();
    images.push_back({path, {.path = path, .label = labelled.label_of(k)}});
  }
  Embedder embedder = open_embedder({.model = model});
  const std::string place = folder + "/gallery";
  const std::shared_ptr<GridStore> gallery = create_gallery(place, embedder.format());
  const AddReport report = add_images(*gallery, embedder, images, {}, progress_bar("index"));

  std::vector<Image> photos;
  for (const std::size_t which : {source, target}) photos.push_back(read_image(images[which].file));
  const GridSet grids = embedder.embed(photos, gallery->format().type);
  FigureParams figure;
  figure.source_name = std::filesystem::path(images[source].file).filename().string();
  figure.target_name = std::filesystem::path(images[target].file).filename().string();
  const std::string page = folder + "/why.html";
  OutputFile file(page);
  const MatchParams match;
  file.write(explain_page(explain(grids[0], grids[1], match),
                          seen_by(embedder.preprocessing(), photos[0]),
                          seen_by(embedder.preprocessing(), photos[1]), figure));
  file.commit();

  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const std::string diml = unknown ? "diml" : std::filesystem::proximate(program, unknown).string();
  std::printf("\n%s: a gallery of %zu images that were not trained on\n", place.c_str(),
              report.added);
  std::printf("%s: why two of them match, a page that opens in any browser\n", page.c_str());
#if DIML_HAS_SERVER
  std::printf("\nsearch, compare and browse them at http://127.0.0.1:8080 after\n\n  %s serve %s\n",
              diml.c_str(), place.c_str());
#else
  std::printf("\nsearch it:\n\n  %s search %s --id 1\n", diml.c_str(), place.c_str());
#endif
}

}  // namespace diml::cli
