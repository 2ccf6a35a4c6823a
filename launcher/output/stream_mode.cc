#include "launcher/output/stream_mode.h"

namespace muster::launcher {

std::string_view to_string(StreamMode mode) {
  switch (mode) {
    case StreamMode::kInherit:
      return "inherit";
    case StreamMode::kKept:
      return "kept";
    case StreamMode::kFile:
      return "file";
    case StreamMode::kTee:
      return "tee";
    case StreamMode::kConsole:
      return "console";
  }
  return "?";
}

StreamMode choose_stream_mode(const StreamWishes& wishes) {
  if (wishes.tee) return wishes.shown ? StreamMode::kTee : StreamMode::kFile;
  if (wishes.redirect) return StreamMode::kFile;
  if (!wishes.shown) return StreamMode::kKept;
  return wishes.terminal && !wishes.prefixed ? StreamMode::kInherit : StreamMode::kConsole;
}

}  // namespace muster::launcher
