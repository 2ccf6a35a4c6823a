#include "launcher/manifest/place_words.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/text.h"
#include "launcher/options/contract_names.h"
#include "mpi/launch/implementation.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kAddressNames[] = {"$MASTER_ADDR", "${MASTER_ADDR}", "$MASTER_PORT",
                                              "${MASTER_PORT}"};

bool says_place(const std::string& word, const std::string& value) {
  constexpr std::string_view kPlaces[] = {"--rdzv-endpoint", "--master-addr", "--master-port"};
  constexpr std::string_view kHostfiles[] = {"--hostfile", "-hostfile", "--machinefile",
                                             "-machinefile", "-f"};
  std::string name = word.substr(0, word.find('='));
  std::ranges::replace(name, '_', '-');
  if (std::ranges::find(kHostfiles, name) != std::end(kHostfiles))
    return value == kOperatorHostfile;
  return std::ranges::find(kPlaces, name) != std::end(kPlaces) && names_address(value);
}

// Of "$NAME" or "${NAME}" at the beginning of `text`; 0 = it is not there.
size_t length_of(std::string_view name, std::string_view text) {
  const bool braced = text.starts_with("${");
  const std::string_view rest = text.substr(braced ? 2 : 1);
  if (!rest.starts_with(name)) return 0;
  const char next = rest.size() > name.size() ? rest[name.size()] : ' ';
  const bool goes_on = (std::isalnum(static_cast<unsigned char>(next)) != 0) || next == '_';
  if (braced ? next != '}' : goes_on) return 0;
  return name.size() + (braced ? 3 : 1);
}

}  // namespace

size_t leading_address_name(std::string_view word) {
  const auto* const name = std::ranges::find_if(
      kAddressNames, [word](std::string_view known) { return word.starts_with(known); });
  return name == std::end(kAddressNames) ? 0 : name->size();
}

bool names_address(std::string_view word) {
  return std::ranges::any_of(kAddressNames, [word](std::string_view name) {
    return word.find(name) != std::string_view::npos;
  });
}

std::string with_values(std::string_view text, std::span<const NamedValue> values) {
  std::string all;
  while (!text.empty()) {
    size_t length = text.starts_with("$$") ? 2 : 1;
    std::string_view piece = text.substr(0, length);
    for (const NamedValue& named : values) {
      const size_t found = text.front() == '$' ? length_of(named.name, text) : 0;
      if (found == 0) continue;
      length = found;
      piece = named.value;
    }
    all += piece;
    text.remove_prefix(length);
  }
  return all;
}

bool start_launcher(const std::vector<std::string>& words) {
  const std::string_view name = words.empty() ? "" : base_name(words.front());
  return name == "torchrun" || mpi::is_launcher_name(name) ||
         (words.size() > 2 && words[1] == "-m" && words[2] == "torch.distributed.run");
}

// Its own words end where its program begins.
std::vector<std::string> without_places(const std::vector<std::string>& words) {
  if (!start_launcher(words)) return words;
  std::vector<std::string> kept = {words.front()};
  size_t i = 1;
  for (; i < words.size(); ++i) {
    const bool is_flag = words[i].starts_with('-');
    const bool is_value = words[i - 1].starts_with('-') && !words[i - 1].ends_with("-no-python");
    if (!is_flag && !is_value) break;
    const size_t equals = words[i].find('=');
    const bool joined = equals != std::string::npos;
    const std::string next = i + 1 < words.size() ? words[i + 1] : "";
    const bool drop = is_flag && says_place(words[i], joined ? words[i].substr(equals + 1) : next);
    if (!drop) kept.push_back(words[i]);
    if (drop && !joined) ++i;
  }
  if (i < words.size())
    kept.insert(kept.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return kept;
}

}  // namespace muster::launcher
