// Two images: how similar, and why.

#include "diml/error.h"
#include "diml/explain.h"
#include "routes.h"
#include "schemas.h"

namespace diml::server {
namespace {

constexpr std::size_t kPairsListed = 64;

// The exact optimum, or the plan that search takes. Both by one call: match().
Solver solver_of(const Input& input) {
  const Solver fastest = is_available(Solver::cpu) ? Solver::cpu : Solver::reference;
  if (input.word("solver", {"entropic", "exact"}, "entropic") == "entropic") return fastest;
  if (!is_available(Solver::exact)) {
    throw Refusal(422, "this server was built without exact transport: take 'entropic'");
  }
  return Solver::exact;
}

struct Pairing {
  Explanation explanation;
  std::size_t pairs = 0;
};

Pairing explained(Service& service, const Call& call) {
  struct Wanted {
    Subject source;
    Subject target;
    MatchParams match;
    std::size_t pairs;
  };
  Wanted wanted = service.work(call, [&] {
    const Input input(call);
    input.expect_only({"source", "target", "marginals", "lambda", "solver", "pairs"});
    Wanted made{service.subject(input, "source", "source"),
                service.subject(input, "target", "target"), service.match_params(input),
                input.whole("pairs", 0, kMostCells * kMostCells, kPairsListed)};
    made.match.transport.solver = solver_of(input);
    return made;
  });
  // Two photos go through the network together.
  if (wanted.source.crop && wanted.target.crop) {
    std::vector<Crop> crops;
    crops.push_back(std::move(*wanted.source.crop));
    crops.push_back(std::move(*wanted.target.crop));
    const StoredGrids grids = service.embed(call, std::move(crops));
    return service.work(call, [&] {
      const GridSetView view = grids.view();
      return Pairing{explain(view[0], view[1], wanted.match), wanted.pairs};
    });
  }
  const StoredGrids source = service.grid_of(call, std::move(wanted.source));
  const StoredGrids target = service.grid_of(call, std::move(wanted.target));
  return service.work(call, [&] {
    return Pairing{explain(source.view()[0], target.view()[0], wanted.match), wanted.pairs};
  });
}

Reply compare(Service& service, const Call& call) {
  const Explanation why = explained(service, call).explanation;
  const TransportParams& transport = why.params.transport;
  return json_reply({{"score", why.score},
                     {"cosine", why.cosine},
                     {"total", why.total()},
                     {"params",
                      {{"marginals", name_of(why.params.marginals)},
                       {"lambda", transport.lambda},
                       {"solver", name_of(transport.solver)}}},
                     {"fallbacks",
                      {{"uniform_source", why.fallbacks.uniform_source},
                       {"uniform_target", why.fallbacks.uniform_target},
                       {"log_domain", why.fallbacks.log_domain}}},
                     {"iterations", why.iterations},
                     {"converged", why.converged}});
}

Reply explain_pair(Service& service, const Call& call) {
  const Pairing pairing = explained(service, call);
  return service.work(call,
                      [&] { return Reply{.body = to_json(pairing.explanation, pairing.pairs)}; });
}

}  // namespace

std::vector<Route> compare_routes() {
  const Json request = joined_content(
      {json_content("PairRequest", {{"source", {{"id", 0}}}, {"target", {{"id", 1}}}}),
       form_content({"source", "target"}, {"marginals", "lambda", "solver", "pairs"})});
  return {
      {.method = "POST",
       .path = "/v1/compare",
       .summary = "How similar two images are: ids, photos or grids",
       .request = request,
       .answer = "Comparison",
       .refusals = {404},
       .handle = compare},
      {.method = "POST",
       .path = "/v1/explain",
       .summary = "Why: every pair of cells with what it adds to the score",
       .request = request,
       .answer = "Explanation",
       .refusals = {404},
       .handle = explain_pair},
  };
}

}  // namespace diml::server
