#include "nccl/plan/site_profile.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::nccl {
namespace {

constexpr std::array<std::string_view, 11> kPrefixes = {
    "NCCL_",     "RCCL_",     "TORCH_NCCL_", "UCX_", "FI_",   "OFI_NCCL_",
    "OMPI_MCA_", "PRTE_MCA_", "GLOO_",       "HSA_", "IONIC_"};

bool is_known(std::string_view name) {
  return std::ranges::any_of(kPrefixes, [name](auto prefix) { return name.starts_with(prefix); }) &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

Error wrong(const std::string& path, size_t line, const std::string& text) {
  return {Code::kConfig, 0, fmt::format("{}:{}: {}", path, line, text)};
}

}  // namespace

Result<SiteProfile> parse_profile(std::string path, std::string_view text) {
  SiteProfile profile{std::move(path), {}};
  std::string comment;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    if (++number > kMaxProfileLines)
      return wrong(profile.path, number, fmt::format("more than {} lines", kMaxProfileLines));
    line = trim(line);
    if (line.empty()) comment.clear();
    if (line.empty()) continue;
    if (line.starts_with('#')) {
      comment = one_line(trim(line.substr(1)));
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      return wrong(profile.path, number, "NAME=VALUE is expected, or a comment that begins with #");
    const std::string name(trim(line.substr(0, equals)));
    if (!is_known(name)) {
      return wrong(profile.path, number,
                   fmt::format("'{}' is no variable of a library that moves data (NCCL_, UCX_, "
                               "FI_, OMPI_MCA_, ...)",
                               one_line(clip_utf8(name, 100))));
    }
    if (std::ranges::find(profile.lines, name, &ProfileLine::name) != profile.lines.end())
      return wrong(profile.path, number, name + " stands here a second time");
    profile.lines.push_back({name, std::string(trim(line.substr(equals + 1))), comment});
    comment.clear();
  }
  return profile;
}

Result<SiteProfile> read_profile(const Files& files, const std::string& path) {
  const std::string wanted = path.empty() ? std::string(kProfilePath) : path;
  if (path.empty() && !files.exists(wanted)) return SiteProfile();
  auto text = files.read(wanted, kMaxProfileBytes);
  if (!text) {
    Error error = std::move(text).error();
    error.code = Code::kConfig;
    return std::move(error).with_context("the fabric profile");
  }
  return parse_profile(wanted, *text);
}

}  // namespace muster::nccl
