# Writes the bytes of INPUT as the function of mpi/ssh/ssh_account.h into OUTPUT, one per line.
file(READ ${INPUT} digits HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1',\n" bytes "${digits}")
file(WRITE ${OUTPUT} "// Made by mpi/ssh/embed_library.cmake.
#include \"mpi/ssh/ssh_account.h\"

namespace muster::mpi {

std::string_view ssh_account_library() {
  static constexpr char kBytes[] = {
${bytes}};
  return {kBytes, sizeof kBytes};
}

}  // namespace muster::mpi
")
