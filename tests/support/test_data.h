// Files of tests/data.
#pragma once

#include <string>

#include "base/files.h"

namespace muster::testing {

inline const std::string kMachines = MUSTER_TEST_DATA "/machines/";

/// `name`: below tests/data.
inline std::string read_test_data(const std::string& name) {
  return RealFiles().read(std::string(MUSTER_TEST_DATA "/") + name).value();
}

}  // namespace muster::testing
