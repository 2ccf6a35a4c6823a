// The library of ssh_account.c, as bytes: it makes the programs of OpenSSH work for any uid.
#pragma once

#include <string_view>

namespace muster::mpi {

/// A shared object for the machine this binary was built for. The build makes the source of this
/// function (CMakeLists.txt).
[[nodiscard]] std::string_view ssh_account_library();

}  // namespace muster::mpi
