#include "mpi/launch/start_refusal.h"

namespace muster::mpi {

namespace {

// A message of one line is told from `begin` to the end of the line; of one of several lines
// `phrase` is told, with what follows `label`.
struct Refusal {
  std::string_view begin;
  std::string_view label;
  std::string_view phrase;
};

constexpr Refusal kRefusals[] = {
    // MPICH and Intel MPI, hydra_pmi_proxy.
    {"unable to change wdir to ", "", ""},
    {"execvp error on file ", "", ""},
    // Open MPI 4 and 5, help-orterun.txt and help-prun.txt: wdir-not-found.
    {"change to the specified working directory",
     "Working directory: ", "could not change to the working directory "},
};

std::string_view line_at(std::string_view text, size_t begin) {
  const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  return line.substr(0, line.find_last_not_of(" \r") + 1);
}

}  // namespace

std::string start_refusal(std::string_view last_words) {
  for (const auto& [begin, label, phrase] : kRefusals) {
    const size_t found = last_words.find(begin);
    if (found == std::string_view::npos) continue;
    if (label.empty()) return std::string(line_at(last_words, found));
    const size_t named = last_words.find(label, found);
    if (named == std::string_view::npos) continue;
    return std::string(phrase) + std::string(line_at(last_words, named + label.size()));
  }
  return "";
}

}  // namespace muster::mpi
