# Writes the files of FILES (names with ',' between them, in this folder) as the function of page_files.h into OUTPUT.
include(${CMAKE_CURRENT_LIST_DIR}/../../../base/embed_text.cmake)
set(rows "")
string(REPLACE "," ";" names "${FILES}")
foreach(name ${names})
  text_of_file(${CMAKE_CURRENT_LIST_DIR}/${name} text)
  if(name MATCHES "\\.html$")
    set(type "text/html; charset=utf-8")
  elseif(name MATCHES "\\.css$")
    set(type "text/css; charset=utf-8")
  else()
    set(type "text/javascript; charset=utf-8")
  endif()
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  string(APPEND rows "    {\"${path}\", \"${type}\",\n\"${text}\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by launcher/dashboard/page/embed.cmake.
#include \"launcher/dashboard/page_files.h\"

namespace muster::launcher {

std::span<const PageFile> page_files() {
  static constexpr PageFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace muster::launcher
")
