// The files of the page, which the build carries into the binary (page/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace muster::launcher {

struct PageFile {
  std::string_view path;  ///< of the request: "/", "/dashboard.js"
  std::string_view content_type;
  std::string_view text;
};

[[nodiscard]] std::span<const PageFile> page_files();

}  // namespace muster::launcher
