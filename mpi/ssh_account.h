// The library of ssh_account.c, as bytes: it makes ssh and sshd work for any uid.
#pragma once

#include <string_view>

namespace muster::mpi {

/// Says to the library which user it stands for: "UID:GID". Root stands for nobody (65534).
inline constexpr std::string_view kSshAccountVariable = "MUSTER_SSH_ACCOUNT";

/// A shared object for the machine this binary was built for. The build makes the source of this
/// function (CMakeLists.txt).
[[nodiscard]] std::string_view ssh_account_library();

}  // namespace muster::mpi
