// How good is an entropic plan? A dual bound from below and a rounded plan from above bracket the
// true optimum.
#include <cstdio>

#include <diml/generated.h>
#include <diml/match.h>

int main() {
  const diml::GeneratedGrids images = diml::generate_grids({.size = 2, .classes = 1});
  bool sound = true;
  for (const diml::Backend backend : {diml::Backend::reference, diml::Backend::exact}) {
    if (!diml::is_available(backend)) continue;
    diml::MatchParams params;
    params.transport.backend = backend;
    params.certificate = diml::Certificate::duality_gap;
    const diml::StructuralMatch match = diml::match(images.grids[0], images.grids[1], params);
    std::printf("%-9s similarity %.4f; the least cost lies in [%.4f, %.4f]\n",
                diml::name_of(backend), match.score, match.bracket->lower, match.bracket->upper);
    sound = sound && match.bracket->gap() > -1e-9;
  }
  return sound ? 0 : 1;
}
