// Whatever comes in a node's card, from ssh-keygen or from an SSH server: an answer or an error,
// and a card that was accepted is written so that it reads the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "mpi/ssh/ssh_banner.h"
#include "mpi/ssh/ssh_config.h"
#include "mpi/ssh/ssh_keys.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  using namespace muster::mpi;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto key = public_key_of(text)) MUSTER_CHECK(public_key_of(*key) == key);
  if (const auto card = parse_ssh_card(text)) {
    const auto again = parse_ssh_card(write_ssh_card(*card));
    MUSTER_CHECK(again && again->host_key == card->host_key && again->port == card->port);
    const auto config = ssh_config("/x", {{std::string(text.substr(0, 8)), "::1", *card}});
    MUSTER_CHECK(!config || config->find("ProxyCommand") == std::string::npos);
  }
  (void)is_ssh_banner(text);  // any answer will do
  return 0;
}
