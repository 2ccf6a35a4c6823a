// LineSplitter: any way of cutting a stream gives the same lines, the lines put together are the
// stream, and only the last may lack an ending (the limit is far beyond these inputs).
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/output/line_splitter.h"

namespace {

using muster::launcher::LineSplitter;

void require(bool condition) {
  if (!condition) abort();
}

struct Split {
  std::vector<std::string> lines;
  std::string unfinished;
};

// `cuts` are the sizes of the chunks, used in turn; 0 = an empty chunk once, then one byte.
Split split_cut(std::string_view text, std::string_view cuts, bool blocks) {
  Split split;
  LineSplitter splitter;
  for (size_t i = 0; !text.empty(); ++i) {
    size_t size = cuts.empty() ? text.size() : static_cast<uint8_t>(cuts[i % cuts.size()]);
    if (size == 0) splitter.feed({});
    size = std::clamp<size_t>(size, 1, text.size());
    const std::string chunk(text.substr(0, size));  // its own block, so that overreads are seen
    text.remove_prefix(size);
    splitter.feed(chunk);
    while (const auto part = blocks ? splitter.next_block() : splitter.next()) {
      split.lines.emplace_back(*part);
    }
  }
  split.unfinished = splitter.finish();
  return split;
}

std::string joined(const Split& split) {
  std::string text;
  for (const std::string& line : split.lines) text += line;
  return text + split.unfinished;
}

void check_line(std::string_view line) {
  const size_t ending = line.find_first_of("\r\n");
  require(ending != std::string_view::npos);
  const std::string_view rest = line.substr(ending);
  require(rest == "\n" || rest == "\r" || rest == "\r\n");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t cut_count = std::min<size_t>(data[0] % 8, size - 1);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view cuts = bytes.substr(0, cut_count);
  const std::string_view text = bytes.substr(cut_count);

  const Split whole = split_cut(text, {}, false);
  const Split cut = split_cut(text, cuts, false);
  require(joined(whole) == text);
  require(cut.lines == whole.lines);
  require(cut.unfinished == whole.unfinished);
  for (const std::string& line : whole.lines) check_line(line);

  const Split blocks = split_cut(text, cuts, true);
  require(joined(blocks) == text);
  require(blocks.unfinished == whole.unfinished);
  for (const std::string& block : blocks.lines)
    require(block.ends_with('\n') || block.ends_with('\r'));
  return 0;
}
