# Writes the files of FILES (names with ',' between them, in this folder) as the function of python_hook.cc into OUTPUT.
include(${CMAKE_CURRENT_LIST_DIR}/../../../base/embed_text.cmake)
set(rows "")
string(REPLACE "," ";" names "${FILES}")
foreach(name ${names})
  text_of_file(${CMAKE_CURRENT_LIST_DIR}/${name} text)
  string(APPEND rows "    {\"${name}\",\n\"${text}\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by launcher/frameworks/hook/embed.cmake.
#include \"launcher/frameworks/python_hook.h\"

namespace muster::launcher {

std::span<const HookFile> hook_files() {
  static constexpr HookFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace muster::launcher
")
