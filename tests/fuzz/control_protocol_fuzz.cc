// Frames come from whoever can reach the job port: any bytes end in a message, an error or the wish
// for more; a message that was read survives being written, and a part of it decides nothing.
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "rendezvous/wire/control_protocol.h"

namespace {

using muster::rendezvous::decode;
using muster::rendezvous::encode;

// But for bytes, which are base64.
void check_words(const nlohmann::json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    MUSTER_CHECK(muster::printable_utf8(text) == text);
  }
  if (!value.is_structured()) return;
  for (const auto& member : value) check_words(member);
}

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
  check_words(
      *muster::parse_json(again.substr(muster::rendezvous::kFrameHeaderBytes), again.size()));
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
