#include "mpi/launch/program_libraries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/support/elf_program.h"

namespace muster::mpi {
namespace {

TEST(NeededLibraries, OfThisVeryProgram) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(self), {}};
  const auto names = needed_libraries(image);
  EXPECT_NE(std::find(names.begin(), names.end(), "libc.so.6"), names.end());
}

TEST(NeededLibraries, InTheOrderOfTheProgram) {
  const std::vector<std::string> names = {"libmpich.so.12", "libm.so.6", "libc.so.6"};
  EXPECT_EQ(needed_libraries(testing::elf_program(names)), names);
}

TEST(NeededLibraries, NothingOfOtherFiles) {
  EXPECT_TRUE(needed_libraries("").empty());
  EXPECT_TRUE(needed_libraries("#!/bin/sh\nmpirun ./a.out\n").empty());
  EXPECT_TRUE(needed_libraries(testing::elf_program({})).empty());
}

TEST(NeededLibraries, WhatIsCutOffOrDamagedIsNotBelieved) {
  const std::string image = testing::elf_program({"libmpi.so.40"});
  for (size_t size = 0; size < image.size(); ++size)
    EXPECT_TRUE(needed_libraries(std::string_view(image).substr(0, size)).empty()) << size;
  for (size_t at = 0; at < image.size(); ++at) {
    std::string damaged = image;
    damaged[at] = '\xff';
    EXPECT_LE(needed_libraries(damaged).size(), 1U) << at;
  }
}

TEST(ImplementationNeeded, IsToldByTheNameOfItsLibrary) {
  EXPECT_EQ(implementation_needed({"libc.so.6", "libmpi.so.40"}), Implementation::kOpenMpi);
  EXPECT_EQ(implementation_needed({"libmpich.so.12"}), Implementation::kMpich);
  EXPECT_EQ(implementation_needed({"libmpifort.so.12", "libmpi.so.12"}), Implementation::kMpich);
  EXPECT_EQ(implementation_needed({"libpython3.11.so.1.0", "libc.so.6"}), std::nullopt);
}

TEST(ImplementationNeeded, IntelMpiRunsWhatMpichDoes) {
  EXPECT_TRUE(runs_under(Implementation::kMpich, Implementation::kIntelMpi));
  EXPECT_TRUE(runs_under(Implementation::kOpenMpi, Implementation::kOpenMpi));
  EXPECT_FALSE(runs_under(Implementation::kOpenMpi, Implementation::kMpich));
  EXPECT_FALSE(runs_under(Implementation::kMpich, Implementation::kOpenMpi));
}

}  // namespace
}  // namespace muster::mpi
