#include "mpi/launch/launcher_words.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace muster::mpi {
namespace {

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' ')) words.emplace_back(word);
  return words;
}

// The words from the program on, from each of them where there are several ("a | b"); or, after
// "?", why they are not known.
std::string program(std::string_view line) {
  const auto words = words_of(line);
  const auto programs = find_program_words(words);
  if (!programs) return "? " + programs.error().text;
  std::vector<std::string> found;
  for (const size_t at : *programs)
    found.push_back(
        join({words.begin() + static_cast<std::ptrdiff_t>(at),
              std::find(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), ":")},
             " "));
  return join(found, " | ");
}

// As people write them: documentation of MPICH and of the controllers' examples.

TEST(LauncherWords, EndWhereTheProgramBegins) {
  const char* const lines[] = {
      "mpiexec @",
      "mpiexec -n 4 @",
      "mpiexec.hydra -ppn 2 -f /etc/mpi/hostfile -iface eth0 -np 8 @",
      "mpirun --hosts a:1,b:1 -genv OMP_NUM_THREADS 4 -genv UCX_TLS=tcp @",
      "mpiexec -genvnone -env A=B -envlist C,D -wdir /work -prepend-rank @",
      "mpiexec -launcher ssh -launcher-exec /opt/muster-rsh -print-all-exitcodes @",
      "mpiexec -NP=4 --Bind-To none -usize=2 @",
  };
  for (const std::string line : lines) {
    const std::string prefix = line.substr(0, line.size() - 1);
    EXPECT_EQ(program(prefix + "./a.out -n 3 -"), "./a.out -n 3 -") << line;
  }
}

TEST(LauncherWords, WhatIsNotKnownForCertainIsRefusedWithTheReason) {
  struct Case {
    std::string_view line;
    std::string_view why;
  };
  const Case cases[] = {
      {"mpiexec --frobnicate 3 a", "option '--frobnicate' is none of those of MPICH"},
      {"mpiexec -configfile jobs", "option '-configfile'"},
      {"mpiexec -- a", "option '--'"},
      {"mpiexec - a", "option '-'"},
      {"mpiexec -verbose=1 a", "option '-verbose=1'"},
      {"mpiexec -perhost 2 a", "option '-perhost'"},
      {"mpiexec -gdb -n 1 a", "option '-gdb'"},
      {"mpiexec -n 1 a x : -n 1 : b", "no program"},
      {"mpiexec -n 1 a : -NN 1 b", "option '-NN'"},
      {"mpiexec : a", "no program"},
      {"mpiexec -env A : b", "no program"},
      {"mpiexec -genv A", "no program"},
      {"mpiexec -np", "no program"},
      {"mpiexec", "no program"},
      {"mpiexec ", "no program"},
  };
  for (const Case& it : cases) {
    const std::string found = program(it.line);
    EXPECT_TRUE(found.starts_with("? ") && found.find(it.why) != std::string::npos)
        << it.line << " -> " << found;
  }
  EXPECT_EQ(program("mpiexec -n 2 java Main"), "java Main");
}

TEST(LauncherWords, EachOfSeveralPrograms) {
  EXPECT_EQ(program("mpiexec -n 1 ./a x : -n 3 -env A=B ./b : -n 1 ./c -n"),
            "./a x | ./b | ./c -n");
}

TEST(LauncherWords, ThereIsALimit) {
  std::vector<std::string> words(2000, "-v");
  words.emplace_back("a.out");
  const auto programs = find_program_words(words);
  ASSERT_FALSE(programs);
  EXPECT_NE(programs.error().text.find("more than 1024 words"), std::string::npos);
}

TEST(LauncherWords, NoWordsAtAllAreNoProgram) { EXPECT_FALSE(find_program_words({})); }

}  // namespace
}  // namespace muster::mpi
