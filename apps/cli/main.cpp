#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include "diml/matcher.h"
#include "diml/generated.h"
using namespace diml;
int main(int argc, char** argv) {
  size_t g = argc > 1 ? atoi(argv[1]) : 4; int threads = argc > 2 ? atoi(argv[2]) : 1; CellType ct=argc>3?cell_type_from(argv[3]):CellType::float32;
  auto gen = generate_grids({.size = 4000, .classes = 200, .grid = g, .type=ct});
  std::vector<Pair> pairs; for (int64_t q = 0; q < (g>4?20:200); ++q) for (int64_t k = 0; k < 100; ++k) pairs.push_back({q*20, getenv("HOT") ? 1+k%atoi(getenv("HOT")) : (q*20 + 1 + (k<19?k:k * 37)) % 4000});
  std::vector<float> s(pairs.size()), r(pairs.size()); std::vector<PairReport> rep(pairs.size()), repr(pairs.size());
  MatchParams p; p.transport.max_iterations=1000; if(getenv("TOL")) p.transport.tolerance=atof(getenv("TOL"));
  auto ref = make_matcher("reference");
  size_t nref = 300; PairBatch rb{gen.grids.view(), gen.grids.view(), std::span<const Pair>(pairs).first(nref)};
  ref->score(rb, p, std::span(r).first(nref), std::span(repr).first(nref));
  for (auto& t : simd_targets()) {
    if (getenv("T") && t != getenv("T")) continue; force_simd_target(t);
    auto m = make_matcher("cpu", {threads});
    PairBatch b{gen.grids.view(), gen.grids.view(), pairs};
    double best = 1e9;
    for (int rept = 0; rept < (getenv("REPS")?atoi(getenv("REPS")):5); ++rept) {
      auto t0 = std::chrono::steady_clock::now();
      m->score(b, p, s, rep);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count());
    }
    double it = 0, e = 0, itr = 0; int unconv=0; for (auto& x : rep) {it += x.iterations; unconv+=!x.converged;} for (size_t i = 0; i < nref; ++i) { e = std::max(e, std::abs(double(s[i]) - r[i])); itr += repr[i].iterations; }
    printf("%s %.3f M pairs/s  iters %.1f (ref %.1f) unconv %d maxerr %.2e  score %f..\n", t.c_str(), pairs.size() / best / 1e6, it / pairs.size(), itr / nref, unconv, e, s[0]);
  }
}
