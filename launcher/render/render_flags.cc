#include "launcher/render/render_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "launcher/options/choice.h"
#include "launcher/render/render_flag_rows.h"
#include "launcher/render/render_values.h"

namespace muster::launcher {

namespace {

constexpr size_t kHelpColumn = 38;

constexpr Choice<JobKind> kKinds[] = {{"jobset", JobKind::kJobSet},
                                      {"job", JobKind::kJob},
                                      {"mpijob", JobKind::kMpiJob},
                                      {"pytorchjob", JobKind::kPytorchJob},
                                      {"trainjob", JobKind::kTrainJob}};

Result<JobKind> as_kind(std::string_view text) { return choose(text, kKinds); }

constexpr RenderFlag kOutput[] = {
    {"file", 'f', "FILE", set_field<&RenderRequest::file, as_any_text>,
     "a manifest to write anew: TrainingRuntime, JobSet, Job, PyTorchJob, MPIJob, TrainJob; only "
     "--to, --output, --name and --project may stand beside it"},
    {"to", 0, "KIND", set_field<&RenderRequest::to, as_kind>,
     "jobset (default), job (of --runs), mpijob (of --framework mpi), pytorchjob, trainjob"},
    {"output", 'o', "DIR", set_field<&RenderRequest::output_dir, as_any_text>,
     "a file for each document in DIR, instead of stdout"},
    {"help", 'h', "", set_field<&RenderRequest::help, as_switch>, "this text"},
};

// Those that a manifest takes besides, and that do not change what is in a job.
constexpr std::string_view kBesideFile[] = {"file", "to", "output", "help", "name", "project"};

const RenderFlag* find_flag(std::string_view name) {
  for (const RenderFlagGroup& group : render_flag_groups())
    for (const RenderFlag& row : group.rows)
      if (row.name == name || (name.size() == 1 && name.front() == row.letter)) return &row;
  return nullptr;
}

// What the command line is read into.
struct Reading {
  RenderRequest request;
  const RenderFlag* not_beside_file = nullptr;  // the first such
  uint32_t hash = 2'166'136'261;                // FNV-1a of what makes the job
};

void add_to_hash(Reading& reading, std::string_view text) {
  constexpr uint32_t kPrime = 16'777'619;
  for (const char letter : text) {
    reading.hash = (reading.hash ^ static_cast<unsigned char>(letter)) * kPrime;
  }
  reading.hash *= kPrime;  // the end of a word counts
}

Status fill(Reading& reading, const RenderFlag& row, const std::string& text) {
  const std::string flag = "--" + std::string(row.name);
  const auto filled =
      text.empty() ? Status(wrong("must not be empty")) : row.fill(reading.request, text);
  if (!filled) return Error(filled.error()).with_context(flag + ": '" + one_line(text) + "'");
  if (row.name != "output") add_to_hash(reading, flag + "=" + text);
  if (reading.not_beside_file == nullptr &&
      std::ranges::find(kBesideFile, row.name) == std::end(kBesideFile))
    reading.not_beside_file = &row;
  return {};
}

// One flag at `words[i]`, of which `i` is then the last word.
Status take_flag(Reading& reading, std::span<const std::string> words, size_t& i) {
  const std::string& word = words[i];
  const bool is_long = word.starts_with("--");
  const size_t equals = is_long ? word.find('=') : std::string::npos;
  const std::string name = is_long ? word.substr(2, equals - 2) : word.substr(1, 1);
  const RenderFlag* const row = find_flag(name);
  if (row == nullptr || (is_long && name.size() == 1))
    return wrong("unknown flag '" + one_line(word) + "'; `muster render --help` lists them");
  if (equals != std::string::npos) return fill(reading, *row, word.substr(equals + 1));
  if (!is_long && word.size() > 2) return fill(reading, *row, word.substr(word[2] == '=' ? 3 : 2));
  if (row->placeholder.empty()) return fill(reading, *row, "true");
  if (i + 1 == words.size()) return wrong("--" + std::string(row->name) + " needs a value");
  return fill(reading, *row, words[++i]);
}

Status check_words(std::span<const std::string> words) {
  for (const std::string& word : words) {
    if (!is_utf8(word)) return wrong("'" + one_line(word) + "' must be UTF-8, as all of YAML");
  }
  return {};
}

Status check_file(const Reading& reading) {
  if (reading.request.file.empty()) return {};
  const RenderFlag* const other = reading.not_beside_file;
  if (other != nullptr) {
    return wrong("--" + std::string(other->name) +
                 ": beside --file there may only be --to, --output, --name and --project");
  }
  if (reading.request.words.empty()) return {};
  return wrong("'" + one_line(reading.request.words.front()) + "': --file says what the pods run");
}

Status name_by_prefix(Reading& reading) {
  RenderRequest& request = reading.request;
  if (request.name_prefix.empty()) return {};
  if (!request.name.empty()) return wrong("--job-name-prefix: --name is given, too");
  for (const std::string& word : request.words) add_to_hash(reading, word);
  auto name = as_workload_name(request.name_prefix + fmt::format("-{:08x}", reading.hash));
  if (!name)
    return wrong("--job-name-prefix: '" + request.name_prefix + "' must be at most 54 letters");
  request.name = *std::move(name);
  return {};
}

}  // namespace

std::span<const RenderFlagGroup> render_flag_groups() {
  static const RenderFlagGroup groups[] = {{"Output", kOutput},
                                           {"Job", job_rows()},
                                           {"Container", container_rows()},
                                           {"Pods", size_rows()},
                                           {"Resources", resource_rows()},
                                           {"Storage", storage_rows()},
                                           {"Scheduling", scheduling_rows()},
                                           {"Access", access_rows()},
                                           {"Tools and reports", door_rows()}};
  return groups;
}

Result<int> as_number(std::string_view text, int least, int most) {
  const auto number = parse_integer(text);
  if (!number || *number < least || *number > most)
    return wrong("must be a number from " + std::to_string(least) + " to " + std::to_string(most));
  return static_cast<int>(*number);
}

std::string render_help() {
  std::string text =
      "usage: muster render --name NAME --image IMAGE [flags] [--] PROGRAM [arguments]\n"
      "       muster render -f FILE [--to KIND] [-o DIR]\n\n"
      "Writes Kubernetes manifests of a job with muster as the entrypoint of its pods.\n";
  for (const RenderFlagGroup& group : render_flag_groups()) {
    text += "\n" + std::string(group.title) + ":\n";
    for (const RenderFlag& row : group.rows) {
      std::string left = row.letter != 0 ? std::string("  -") + row.letter + ", --" : "      --";
      left += std::string(row.name);
      if (!row.placeholder.empty()) left += " " + std::string(row.placeholder);
      left.resize(std::max(kHelpColumn, left.size() + 2), ' ');
      text += left + std::string(row.help) + "\n";
    }
  }
  return text;
}

Result<RenderRequest> parse_render_flags(std::span<const std::string> words) {
  MUSTER_RETURN_IF_ERROR(check_words(words));
  Reading reading;
  RenderRequest& request = reading.request;
  size_t i = 0;
  for (; i < words.size(); ++i) {
    if (words[i] == "--" || words[i].size() < 2 || words[i].front() != '-') break;
    MUSTER_RETURN_IF_ERROR(take_flag(reading, words, i));
    if (request.help) return std::move(request);
  }
  if (i < words.size() && words[i] == "--") ++i;
  request.words.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  MUSTER_RETURN_IF_ERROR(check_file(reading));
  MUSTER_RETURN_IF_ERROR(name_by_prefix(reading));
  return std::move(request);
}

}  // namespace muster::launcher
