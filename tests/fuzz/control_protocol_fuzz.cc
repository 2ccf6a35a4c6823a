// Frames come from whoever can reach the job port: any bytes end in a message, an error or the wish
// for more; a message that was read survives being written, and a part of it decides nothing.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "rendezvous/wire/control_protocol.h"

namespace {

using muster::rendezvous::decode;
using muster::rendezvous::encode;

void check_frame(std::string_view frame) {
  const auto decoded = decode(frame);
  if (!decoded) return;
  MUSTER_CHECK(decoded->message.has_value() == (decoded->consumed > 0));
  MUSTER_CHECK(decoded->consumed <= frame.size());
  if (!decoded->message) return;
  const std::string again = encode(*decoded->message);
  const auto second = decode(again);
  MUSTER_CHECK(second.has_value() && second->consumed == again.size());
  MUSTER_CHECK(encode(*second->message) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_frame(bytes);
  // The same as the body of a frame with the right length.
  std::string frame;
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(size >> shift));
  frame += bytes;
  check_frame(frame);
  if (size > 0) {
    const auto part = decode(std::string_view(frame).substr(0, frame.size() - 1));
    MUSTER_CHECK(part.has_value() && part->consumed == 0);
  }
  return 0;
}
