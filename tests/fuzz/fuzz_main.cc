// Driver for the fuzz targets under a compiler without libFuzzer: runs the corpus of one, then
// deterministic mutations of it and random bytes. Same seed, same inputs. Not for finding the last
// bug (make fuzz does that, with coverage); it keeps every decoder under fire in every test run.
// Seconds are CPU time: how many inputs are run does not depend on what else runs.
//
//   fuzz --list                  the targets, one a line
//   fuzz store_protocol_fuzz [--runs N] [--seed S] [--max-seconds T] [--max-bytes B] [FILE or
//   FOLDER]...
//
// Exit 0: all inputs were survived. A crash, sanitizer report or input slower than
// kSecondsPerInput saves the input as crash-<target>-<run> in the working directory.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

// Present only under a sanitizer, which ends the process without raising a signal.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Bytes = std::vector<uint8_t>;
using Random = std::mt19937_64;

constexpr unsigned kSecondsPerInput = 10;  // a decoder that takes longer does not end

struct Settings {
  uint64_t runs = 20'000;
  uint64_t seed = 1;
  uint64_t max_seconds = 60;
  uint64_t max_bytes = 4096;
  std::vector<std::string> corpus_paths;
};

// What the crash handlers save; they can have no argument.
struct CurrentInput {
  const uint8_t* data = nullptr;
  size_t size = 0;
  char file_name[256] = {};
} current;

// Async-signal-safe. Errors are ignored: the process is dying with a better message.
void save_current_input() {
  const int fd = open(current.file_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  (void)!write(fd, current.data, current.size);
  (void)close(fd);
  constexpr std::string_view kSaved = "\nfuzz: input saved as ";
  (void)!write(STDERR_FILENO, kSaved.data(), kSaved.size());
  (void)!write(STDERR_FILENO, current.file_name, strlen(current.file_name));
  (void)!write(STDERR_FILENO, "\n", 1);
}

void on_fatal_signal(int number) {
  save_current_input();
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

void catch_crashes() {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(save_current_input);
  } else {
    for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE})
      (void)signal(number, on_fatal_signal);
  }
  for (const int number : {SIGABRT, SIGALRM}) (void)signal(number, on_fatal_signal);
}

void run_input(const FuzzTarget& target, const std::string& name, const Bytes& input) {
  // A block of exactly this size, so that the sanitizer sees the first byte read beyond it.
  const auto block = std::make_unique<uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), block.get());
  current.data = block.get();
  current.size = input.size();
  (void)snprintf(current.file_name, sizeof current.file_name, "crash-%s", name.c_str());
  (void)alarm(kSecondsPerInput);
  (void)target.run(block.get(), input.size());
  (void)alarm(0);
}

uint64_t below(Random& random, uint64_t limit) { return random() % limit; }

Bytes random_bytes(Random& random, uint64_t size) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

// Numbers at which length checks go wrong, in either byte order.
void overwrite_with_edge_number(Random& random, Bytes& bytes) {
  constexpr uint64_t kEdges[] = {0,      1,          0x7f,       0x80,       0xff,       0x7fff,
                                 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 63, ~0ULL};
  const uint64_t edge = kEdges[below(random, std::size(kEdges))];
  const uint64_t width = std::min<uint64_t>(uint64_t{1} << below(random, 4), bytes.size());
  const uint64_t at = below(random, bytes.size() - width + 1);
  const bool big_endian = below(random, 2) == 0;
  for (uint64_t i = 0; i < width; ++i) {
    const uint64_t shift = 8 * (big_endian ? width - 1 - i : i);
    bytes[at + i] = static_cast<uint8_t>(edge >> shift);
  }
}

auto position(Bytes& bytes, uint64_t at) { return bytes.begin() + static_cast<std::ptrdiff_t>(at); }

void erase_range(Random& random, Bytes& bytes) {
  const uint64_t from = below(random, bytes.size());
  const uint64_t length = 1 + below(random, bytes.size() - from);
  bytes.erase(position(bytes, from), position(bytes, from + length));
}

void duplicate_range(Random& random, Bytes& bytes) {
  const uint64_t from = below(random, bytes.size());
  const uint64_t length = 1 + below(random, bytes.size() - from);
  const Bytes copy(position(bytes, from), position(bytes, from + length));
  bytes.insert(position(bytes, below(random, bytes.size() + 1)), copy.begin(), copy.end());
}

void mutate_once(Random& random, Bytes& bytes, const Bytes& other) {
  const uint64_t choice = bytes.empty() ? 0 : below(random, 7);
  switch (choice) {
    case 0: {
      const Bytes extra = random_bytes(random, 1 + below(random, 8));
      bytes.insert(position(bytes, below(random, bytes.size() + 1)), extra.begin(), extra.end());
      return;
    }
    case 1:
      bytes[below(random, bytes.size())] ^= static_cast<uint8_t>(1U << below(random, 8));
      return;
    case 2:
      bytes[below(random, bytes.size())] = static_cast<uint8_t>(random());
      return;
    case 3:
      return overwrite_with_edge_number(random, bytes);
    case 4:
      return erase_range(random, bytes);
    case 5:
      return duplicate_range(random, bytes);
    case 6:  // the head of this one, the tail of another
      bytes.resize(below(random, bytes.size()));
      bytes.insert(bytes.end(), other.begin(), other.end());
      return;
  }
}

Bytes next_input(Random& random, const std::vector<Bytes>& corpus, uint64_t max_bytes) {
  if (below(random, 20) == 0) return random_bytes(random, below(random, 64));
  Bytes bytes = corpus[below(random, corpus.size())];
  const uint64_t mutations = 1 + below(random, 5);
  for (uint64_t i = 0; i < mutations; ++i) {
    mutate_once(random, bytes, corpus[below(random, corpus.size())]);
  }
  if (bytes.size() > max_bytes) bytes.resize(max_bytes);
  return bytes;
}

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(stream), {});
}

// Files in the order of their names, so that a run can be repeated on another machine.
std::vector<Bytes> read_corpus(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.emplace_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const auto& file : files) corpus.push_back(read_file(file));
  corpus.emplace_back();  // the empty input is always tried
  return corpus;
}

[[noreturn]] void refuse(const std::string& message) {
  (void)fprintf(stderr, "fuzz: %s\n", message.c_str());
  exit(64);
}

uint64_t* setting_named(Settings& settings, std::string_view flag) {
  if (flag == "--runs") return &settings.runs;
  if (flag == "--seed") return &settings.seed;
  if (flag == "--max-seconds") return &settings.max_seconds;
  if (flag == "--max-bytes") return &settings.max_bytes;
  return nullptr;
}

Settings parse_arguments(const std::vector<std::string>& arguments) {
  Settings settings;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!word.starts_with("--")) {
      if (!std::filesystem::exists(word)) refuse("no such corpus file or folder: " + word);
      settings.corpus_paths.push_back(word);
      continue;
    }
    uint64_t* const value = setting_named(settings, word);
    if (value == nullptr) refuse("unknown flag " + word);
    if (++i == arguments.size()) refuse(word + " needs a number");
    const std::string& text = arguments[i];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
    if (error != std::errc() || end != text.data() + text.size()) {
      refuse(word + ": not a number: " + text);
    }
  }
  return settings;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

uint64_t run_all(const Settings& settings, const FuzzTarget& target) {
  const std::string name = target.name;
  const std::vector<Bytes> corpus = read_corpus(settings.corpus_paths);
  uint64_t executions = 0;
  for (const Bytes& input : corpus) {
    run_input(target, name + "-corpus-" + std::to_string(executions++), input);
  }
  Random random(settings.seed);
  const double deadline = cpu_seconds() + static_cast<double>(settings.max_seconds);
  for (uint64_t run = 0; run < settings.runs; ++run) {
    if (run % 256 == 0 && cpu_seconds() > deadline) break;
    run_input(target, name + "-" + std::to_string(settings.seed) + "-" + std::to_string(run),
              next_input(random, corpus, settings.max_bytes));
    ++executions;
  }
  return executions;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "--list") {
    for (const FuzzTarget& target : fuzz_targets()) printf("%s\n", target.name);
    return 0;
  }
  if (words.empty()) refuse("which target? --list names them");
  const std::span<const FuzzTarget> targets = fuzz_targets();
  const auto target = std::find_if(targets.begin(), targets.end(),
                                   [&](const FuzzTarget& each) { return each.name == words[0]; });
  if (target == targets.end()) refuse("no target " + words[0]);
  const Settings settings = parse_arguments({words.begin() + 1, words.end()});
  catch_crashes();
  const uint64_t executions = run_all(settings, *target);
  printf("%s: %llu executions, seed %llu\n", target->name,
         static_cast<unsigned long long>(executions),
         static_cast<unsigned long long>(settings.seed));
  return 0;
}
