// A rank may send anything: it ends in requests, an error or the wish for more; the state behind
// them survives every order of requests, and so it does any contribution of another node.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "mpi/pmi/pmi_server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::mpi;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  PmiServer server({"k", 0, 1, 2, 2});
  server.on_exchanged(0, {"size 1 k\n", std::string(bytes)});
  for (size_t begin = 0; begin < size;) {
    const auto decoded = decode_pmi(bytes.substr(begin));
    if (!decoded) {
      server.on_nonsense(0, decoded.error());
      break;
    }
    MUSTER_CHECK(decoded->request.has_value() == (decoded->consumed > 0));
    MUSTER_CHECK(decoded->consumed <= size - begin);
    if (decoded->consumed == 0) break;
    begin += decoded->consumed;
    server.on_request(0, *decoded->request);
  }
  for (const PmiOutput& output : server.take_outputs()) {
    const auto* answer = std::get_if<pmi_output::Answer>(&output);
    if (answer != nullptr) MUSTER_CHECK(answer->line.find('\n') == answer->line.size() - 1);
  }
  (void)server.on_success(0);
  return 0;
}
