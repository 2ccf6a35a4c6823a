#include "mpi/launch/launcher_words.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace muster::mpi {
namespace {

constexpr Launcher kOld{Implementation::kOpenMpi, 4};
constexpr Launcher kNew{Implementation::kOpenMpi, 5};
constexpr Launcher kMpich{Implementation::kMpich};
constexpr Launcher kIntel{Implementation::kIntelMpi};

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : split(line, ' ')) words.emplace_back(word);
  return words;
}

// The words from the program on, from each of them where there are several ("a | b"); or, after
// "?", why they are not known.
std::string program(const Launcher& launcher, std::string_view line) {
  const auto words = words_of(line);
  const auto programs = find_program_words(launcher, words);
  if (!programs) return "? " + programs.error().text;
  std::vector<std::string> found;
  for (const size_t at : *programs)
    found.push_back(
        join({words.begin() + static_cast<std::ptrdiff_t>(at),
              std::find(words.begin() + static_cast<std::ptrdiff_t>(at), words.end(), ":")},
             " "));
  return join(found, " | ");
}

// As people write them: documentation of the four, of Horovod and of the controllers' examples.

TEST(LauncherWords, OpenMpi4) {
  const char* const lines[] = {
      "mpirun @",
      "mpirun -np 4 @",
      "mpirun -n 2 --host a:1,b:1 @",
      "mpirun --np 4 --oversubscribe --allow-run-as-root @",
      "mpiexec -c 4 -H localhost:4 @",
      "mpirun --allow-run-as-root --tag-output -bind-to none -map-by slot -mca pml ob1 -np 8 @",
      "mpirun -mca btl ^openib -x NCCL_DEBUG=INFO -x PATH @",
      "mpirun -N 2 --map-by ppr:1:node --mca btl_tcp_if_include eth0 --gmca a b @",
      "orterun -wdir /work --output-filename /tmp/out --timeout 60 -q @",
      "mpirun -v -display-map --report-bindings --bind-to core --rank-by slot @",
      "mpirun --stdin none -rf /tmp/ranks -- @",
  };
  for (const std::string line : lines) {
    const std::string prefix = line.substr(0, line.size() - 1);
    EXPECT_EQ(program(kOld, prefix + "./a.out -np 3 --host x"), "./a.out -np 3 --host x") << line;
  }
}

TEST(LauncherWords, OpenMpi5) {
  const char* const lines[] = {
      "mpirun -np 4 @",
      "mpirun --np=4 --host=a:2,b:2 @",
      "prterun --prtemca plm_ssh_agent false --pmixmca a b --display map,bind --output tag @",
      "mpirun -n 4 --map-by ppr:2:node:pe=2 --mca pml ob1 --runtime-options x -x A=B @",
      "mpirun --display-topo n0 --stdin all -- @",
  };
  for (const std::string line : lines) {
    const std::string prefix = line.substr(0, line.size() - 1);
    EXPECT_EQ(program(kNew, prefix + "python3 -m mpi4py main.py"), "python3 -m mpi4py main.py")
        << line;
  }
}

TEST(LauncherWords, TheSameOptionHasAValueInOpenMpi5Only) {
  EXPECT_EQ(program(kOld, "mpirun --display-topo a b"), "a b");
  EXPECT_EQ(program(kNew, "mpirun --display-topo a b"), "b");
}

TEST(LauncherWords, Hydra) {
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
    EXPECT_EQ(program(kMpich, prefix + "./a.out -n 3 -"), "./a.out -n 3 -") << line;
  }
}

TEST(LauncherWords, IntelMpi) {
  const char* const lines[] = {
      "mpirun -n 4 -ppn 2 @",
      "mpiexec.hydra -bootstrap rsh -bootstrap-exec /opt/muster-rsh -perhost 1 -np 2 @",
      "mpirun -machinefile /tmp/hosts -genv I_MPI_DEBUG=5 -genv FI_PROVIDER tcp -l -n 4 @",
      "mpirun -s all -print-rank-map -silent-abort -rr -iface eth0 @",
  };
  for (const std::string line : lines) {
    const std::string prefix = line.substr(0, line.size() - 1);
    EXPECT_EQ(program(kIntel, prefix + "./a.out -n 3"), "./a.out -n 3") << line;
  }
}

TEST(LauncherWords, WhatIsNotKnownForCertainIsRefusedWithTheReason) {
  struct Case {
    Launcher launcher;
    std::string_view line;
    std::string_view why;
  };
  const Case cases[] = {
      {kOld, "mpirun --frobnicate 3 a", "option '--frobnicate' is none of those of Open MPI"},
      {kOld, "mpirun --np=4 a", "option '--np=4'"},
      {kOld, "mpirun ---np 4 a", "option '---np'"},
      {kOld, "mpirun -vq a", "option '-vq'"},
      {kOld, "mpirun --app jobs", "option '--app'"},
      {kOld, "mpirun -tv -np 2 a", "option '-tv'"},
      {kOld, "mpirun --path /opt/bin a", "option '--path'"},
      {kOld, "mpirun -prtemca a b c", "option '-prtemca'"},
      {kNew, "mpirun --map node a", "option '--map'"},
      {kNew, "mpirun --oversubscribe=1 a", "option '--oversubscribe=1'"},
      {kNew, "mpirun - a", "option '-'"},
      {kOld, "mpirun --version", "option '--version'"},
      {kMpich, "mpiexec -configfile jobs", "option '-configfile'"},
      {kMpich, "mpiexec -- a", "option '--'"},
      {kMpich, "mpiexec -perhost 2 a", "option '-perhost'"},
      {kIntel, "mpirun -gdb -n 1 a", "option '-gdb'"},
      {kIntel, "mpirun -tune -n 1 a", "option '-tune'"},
      {kIntel, "mpirun -N 1 a", "option '-N'"},
      {kOld, "mpirun -np 2 a :", "no program"},
      {kOld, "mpirun : a", "no program"},
      {kMpich, "mpiexec -n 1 a x : -n 1 : b", "no program"},
      {kMpich, "mpiexec -env A : b", "no program"},
      {kIntel, "mpirun -n 1 a : -N 1 b", "option '-N'"},
      {kNew, "mpirun a : -np 1 java Main", "Open MPI changes the words of java"},
      {kOld, "mpirun -np 2", "no program"},
      {kOld, "mpirun -np", "no program"},
      {kOld, "mpirun --mca btl", "no program"},
      {kOld, "mpirun --", "no program"},
      {kMpich, "mpiexec -genv A", "no program"},
      {kIntel, "mpirun", "no program"},
      {kOld, "mpirun ", "no program"},
      {kNew, "mpirun -np 2 /usr/bin/java Main", "Open MPI changes the words of java"},
  };
  for (const Case& it : cases) {
    const std::string found = program(it.launcher, it.line);
    EXPECT_TRUE(found.starts_with("? ") && found.find(it.why) != std::string::npos)
        << it.line << " -> " << found;
  }
  EXPECT_EQ(program(kMpich, "mpiexec -n 2 java Main"), "java Main");
}

TEST(LauncherWords, EachOfSeveralPrograms) {
  EXPECT_EQ(program(kOld, "mpirun --tag-output -np 1 ./a x : -np 3 -x A -- ./b -np : ./c"),
            "./a x | ./b -np | ./c");
  EXPECT_EQ(program(kNew, "mpirun --np=1 ./a : --np=3 --host n1:3 ./b"), "./a | ./b");
  EXPECT_EQ(program(kMpich, "mpiexec -n 1 ./a x : -n 3 -env A=B ./b : -n 1 ./c -n"),
            "./a x | ./b | ./c -n");
  EXPECT_EQ(program(kIntel, "mpirun -ppn 1 -n 1 ./a : -host n1 -n 3 ./b"), "./a | ./b");
}

TEST(LauncherWords, ThereIsALimit) {
  std::vector<std::string> words(2000, "-v");
  words.emplace_back("a.out");
  const auto programs = find_program_words(kOld, words);
  ASSERT_FALSE(programs);
  EXPECT_NE(programs.error().text.find("more than 1024 words"), std::string::npos);
}

TEST(LauncherWords, NoWordsAtAllAreNoProgram) { EXPECT_FALSE(find_program_words(kOld, {})); }

}  // namespace
}  // namespace muster::mpi
