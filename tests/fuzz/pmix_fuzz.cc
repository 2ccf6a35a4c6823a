// A PMIx server may say anything: it ends in messages, an error or the wish for more; the session
// behind them survives every order of them and any contribution of another node. So do the
// variables that a rank is given.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "mpi/pmi/await_environment.h"
#include "mpi/pmi/pmix_session.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::mpi;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  PmixSession session({.space = "k", .local_size = 2, .world_size = 4, .nodes = 2}, "/tmp");
  session.on_exchanged(0, {"2 k other", size % 2 == 0 ? "2 k own" : std::string(bytes)});
  for (size_t begin = 0; begin < size;) {
    const auto decoded = decode_pmix(bytes.substr(begin));
    if (!decoded) {
      session.on_server_lost(decoded.error().text);
      break;
    }
    MUSTER_CHECK(decoded->message.has_value() == (decoded->consumed > 0));
    MUSTER_CHECK(decoded->consumed <= size - begin);
    if (decoded->consumed == 0) break;
    const std::string again = encode_pmix(*decoded->message);
    const auto same = decode_pmix(again);
    MUSTER_CHECK(same && same->message == decoded->message);
    begin += decoded->consumed;
    session.on_server(*decoded->message);
  }
  session.on_exchanged(1, {std::string(bytes), "D"});
  (void)session.on_success(0);
  (void)session.on_failure(1);
  (void)session.take_outputs();
  if (const auto variables = muster::mpi::parse_environment_text(bytes))
    MUSTER_CHECK(muster::mpi::environment_text(*variables) == bytes);
  return 0;
}
