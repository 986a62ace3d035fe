// Two images: how similar, and why.

#include "comparison_answers.h"
#include "diml/explain.h"
#include "routes.h"
#include "work_budget.h"

namespace diml::server {
namespace {

// Both plans by one call: match().
MatchParams match_of(const PairRequest& asked) {
  MatchParams match = asked.match;
  match.transport.backend = Backend::fastest;
  if (asked.plan == Plan::entropic) return match;
  if (!is_available(Backend::exact)) {
    throw Refusal(422, "this server was built without exact transport: use 'entropic'");
  }
  match.transport.backend = Backend::exact;
  return match;
}

// answer: of the explanation, on a worker.
template <class Answer>
auto explained(Service& service, const Call& call, const PairRequest& asked, Answer answer) {
  const MatchParams match = match_of(asked);
  const Backend backend = match.transport.backend;
  expect_affordable(service, 1, match,
                    backend == Backend::fastest ? fastest_of_one_pair() : backend, "pairs");
  struct Subjects {
    Subject source;
    Subject target;
  };
  Subjects both = service.work(call, [&] {
    return Subjects{service.subject(asked.source), service.subject(asked.target)};
  });
  // Two photos are embedded in one batch.
  if (both.source.crop && both.target.crop) {
    std::vector<Crop> crops;
    crops.push_back(std::move(*both.source.crop));
    crops.push_back(std::move(*both.target.crop));
    const GridSet grids = service.embed(call, std::move(crops));
    return service.work(call, [&] {
      const GridSetView view = grids.view();
      return answer(explain(view[0], view[1], match, asked.weights));
    });
  }
  SubjectGrid source = service.grid_of(call, std::move(both.source));
  SubjectGrid target = service.grid_of(call, std::move(both.target));
  return service.work(call, [&] {
    return answer(explain(source.view()[0], target.view()[0], match, asked.weights));
  });
}

Answered<ComparisonAnswer> compare(Service& service, const Call& call, const PairRequest& asked) {
  return explained(service, call, asked,
                   [](const Explanation& why) { return Answered(ComparisonAnswer(why)); });
}

Answered<ExplanationAnswer> explain_pair(Service& service, const Call& call,
                                         const ExplainRequest& asked) {
  return explained(service, call, asked, [&](const Explanation& why) {
    return Answered(ExplanationAnswer(why, asked.pairs));
  });
}

}  // namespace

std::vector<Route> compare_routes() {
  return {
      route("POST", "/v1/compare", compare,
            {.summary = "How similar two images are: ids, photos or grids", .refusals = {404}}),
      route("POST", "/v1/explain", explain_pair,
            {.summary = "Why: every pair of cells with its contribution to the score",
             .refusals = {404}}),
  };
}

}  // namespace diml::server
