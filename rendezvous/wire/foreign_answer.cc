#include "rendezvous/wire/foreign_answer.h"

#include <fmt/core.h>

#include "base/text.h"

namespace muster::rendezvous {

namespace {

struct Known {
  std::string_view begins;
  std::string_view who;
};
// Those that are found by mistake: a web server behind the Service, a login port, a cache, TLS.
constexpr Known kKnown[] = {
    {"HTTP/", "an HTTP server"},   {"SSH-", "an SSH server"},    {"-ERR", "a Redis server"},
    {"-NOAUTH", "a Redis server"}, {"\x15\x03", "a TLS server"},
};

}  // namespace

std::string describe_foreign(std::string_view bytes) {
  std::string_view who = "another program";
  for (const Known& known : kKnown) {
    if (bytes.starts_with(known.begins)) who = known.who;
  }
  const std::string_view line = trim(bytes.substr(0, bytes.find('\n')));
  const bool cut = line.size() > kMaxForeignBytes;
  return fmt::format("no agent of muster: {} answered '{}{}'", who,
                     one_line(clip_utf8(line, kMaxForeignBytes)), cut ? "..." : "");
}

}  // namespace muster::rendezvous
