#include <iostream>

#include "base/npy.h"
#include "base/shown_text.h"
#include "command.h"
#include "diml/error.h"
#include "diml/generated.h"
#include "progress_bar.h"

namespace diml::cli {
namespace {

struct GenerateCommand {
  GeneratedParams params;
  std::string out;

  void run() const {
    const GeneratedGrids generated = generate_grids(params, progress_bar("generate"));
    const GridSetView grids = generated.grids.view();
    NpyWriter cells(out + ".cells.npy", ArrayType::float32,
                    std::vector<std::size_t>{grids.size, grids.cells_per_grid, grids.dim});
    NpyWriter globals(out + ".globals.npy", ArrayType::float32,
                      std::vector<std::size_t>{grids.size, grids.dim});
    NpyWriter labels(out + ".labels.npy", ArrayType::int64, std::vector<std::size_t>{grids.size});
    const Progress progress = progress_bar("write");
    for (std::size_t i = 0; i < grids.size; ++i) {
      if (i % 1024 == 0) progress(i, grids.size);
      const GridView grid = grids[i];
      cells.append({static_cast<const float*>(grid.cells), grid.count * grid.dim});
      globals.append({grid.global, grid.dim});
    }
    progress(grids.size, grids.size);
    labels.append(std::span<const std::int64_t>(generated.labels));
    labels.commit();
    globals.commit();
    cells.commit();
    std::cout << grids.size << " grids of " << params.grid << " x " << params.grid << " x "
              << grids.dim << ", " << params.classes << " classes: " << shown(out)
              << ".{cells,globals,labels}.npy\n";
  }
};

}  // namespace

Run define_generate(CLI::App& command) {
  auto options = std::make_shared<GenerateCommand>();
  GeneratedParams& params = options->params;
  command.add_option("--images", params.size, "How many grids")->check(CLI::PositiveNumber);
  command.add_option("--classes", params.classes, "How many classes")->check(CLI::PositiveNumber);
  command.add_option("--grid", params.grid, "Cells per side")->check(CLI::Range(1, 14));
  command.add_option("--dim", params.dim, "Dimensions of a cell")->check(CLI::PositiveNumber);
  command
      .add_option("--common", params.common,
                  "Length of a direction that all cells share: 0.7 puts them into a cone")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--seed", params.seed, "Another seed generates other creatures");
  command.add_option("--out", options->out, "Prefix of the files")->required();
  return [options] { options->run(); };
}

}  // namespace diml::cli
