// Names that nobody guesses, for where knowing a name is all that opens a door. Not for what stands
// in `ps`, in a path or in the log: everybody knows that.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// 128 random bits of the kernel as 32 hexadecimal digits. Another value at every call. It waits
/// only in the first second of a machine's life (getrandom(2)). kOs.
Result<std::string> unguessable_digits();

}  // namespace muster
