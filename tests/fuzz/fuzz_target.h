// What fuzz_main.cc knows of the fuzz targets. tests/CMakeLists.txt writes the source behind it
// from the files of this folder: each file's LLVMFuzzerTestOneInput is compiled under the name of
// the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

struct FuzzTarget {
  const char* name;
  int (*run)(const uint8_t* data, size_t size);
};

/// All of them, in the order of their names.
std::span<const FuzzTarget> fuzz_targets();
