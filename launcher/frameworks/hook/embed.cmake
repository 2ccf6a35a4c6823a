# Writes the files of FILES (names with ',' between them, in this folder) as the function of python_hook.cc into OUTPUT.
set(rows "")
string(REPLACE "," ";" names "${FILES}")
foreach(name ${names})
  file(READ ${CMAKE_CURRENT_LIST_DIR}/${name} digits HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" digits "${digits}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${digits}")
  string(REPLACE "\n" "\"\n\"" text "${text}")
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
