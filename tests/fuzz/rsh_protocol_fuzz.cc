// Whoever reaches the job port can send anything: what is taken for a message says the same when it
// is encoded again, its words can be shown, and cutting the input elsewhere changes nothing.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "mpi/rsh/rsh_protocol.h"

namespace {

using namespace muster;

void check_line(std::string_view text) { MUSTER_CHECK(one_line(text) == text); }

void check_words(const mpi::RshMessage& message) {
  if (const auto* refused = std::get_if<mpi::rsh::Refused>(&message)) check_line(refused->reason);
  if (const auto* run = std::get_if<mpi::rsh::Run>(&message)) {
    for (const auto& text : {run->run_id, run->caller, run->user}) check_line(text);
  }
  if (const auto* end = std::get_if<mpi::rsh::RankEnd>(&message)) {
    check_line(end->shortage);
    MUSTER_CHECK(printable_utf8(end->last_lines) == end->last_lines);
  }
}

std::string decoded(std::string_view bytes, size_t piece) {
  mpi::RshDecoder decoder;
  std::string all;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    decoder.append(bytes.substr(at, piece));
    for (;;) {
      auto message = decoder.next();
      if (!message) return all + "!" + message.error().text;
      if (!*message) break;
      check_words(**message);
      all += mpi::encode(**message);
    }
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = decoded(bytes, size + 1);
  MUSTER_CHECK(decoded(bytes, 7) == whole);
  if (whole.find('!') == std::string::npos) MUSTER_CHECK(decoded(whole, whole.size() + 1) == whole);
  (void)mpi::read_rsh_greeting(bytes.substr(0, mpi::kRshGreetingBytes));  // no input may harm it
  return 0;
}
