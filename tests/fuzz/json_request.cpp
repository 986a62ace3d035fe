// The fields of a request: its first letter says of which route, the second in which form.
#include "fuzz/http_target.h"
#include "server/requests.h"

namespace {

using namespace diml::server;
using diml::test::expect;

template <class Request>
void read_as(const Call& call) {
  static const diml::ServerParams params;
  (void)diml::test::status_of_call([&] {
    const Input input(call);
    expect(input.fields().is_object());
    const auto request = read_request<Request>(input, params);
    if constexpr (requires { request.query.grid; }) {
      if (request.query.grid != nullptr) (void)read_object<GridInput>(*request.query.grid, "query");
    }
    if constexpr (requires { request.candidates; }) {
      expect(request.candidates->size() <= request.most_candidates);
      for (const Json& one : *request.candidates) (void)id_in(one, "candidates");
    }
  });
}

void read(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 2) return;
  Call call;
  call.patience.deadline = Clock::time_point::max();
  call.body = diml::test::text_of(bytes.subspan(2));
  switch (bytes[1]) {
    case 'f':
      call.content_type = "multipart/form-data; boundary=b";
      break;
    case 'i':
      call.content_type = "image/jpeg";
      break;
    case 'q':
      call.query = {{"top", call.body}, {"where", call.body}, {"query", call.body}};
      call.body.clear();
      break;
    default:
      call.content_type = "application/json";
  }
  switch (bytes[0]) {
    case 'r':
      return read_as<RerankRequest>(call);
    case 'e':
      return read_as<ExplainRequest>(call);
    case 'l':
      return read_as<ListRequest>(call);
    case 'a':
      return read_as<AddRequest>(call);
    case 'u':
      return read_as<UpdateRequest>(call);
    default:
      return read_as<SearchRequest>(call);
  }
}

}  // namespace

DIML_FUZZ_TARGET(read)
