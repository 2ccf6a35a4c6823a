#include "launcher/render/render_flags.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "launcher/options/choice.h"

namespace muster::launcher {

namespace {

constexpr size_t kHelpColumn = 34;
constexpr int kMaxWorkers = 100'000;

constexpr Choice<JobKind> kKinds[] = {{"jobset", JobKind::kJobSet},
                                      {"job", JobKind::kJob},
                                      {"mpijob", JobKind::kMpiJob},
                                      {"pytorchjob", JobKind::kPytorchJob},
                                      {"trainjob", JobKind::kTrainJob}};

template <auto kField>
Status fill_text(RenderRequest& request, std::string_view text) {
  if (text.empty()) return wrong("must not be empty");
  request.*kField = std::string(text);
  return {};
}

template <auto kField>
Status fill_switch(RenderRequest& request, std::string_view text) {
  if (text != "true" && text != "false") return wrong("neither true nor false");
  request.*kField = text == "true";
  return {};
}

template <auto kField, int kLeast, int kMost>
Status fill_number(RenderRequest& request, std::string_view text) {
  const auto number = parse_integer(text);
  if (!number || *number < kLeast || *number > kMost)
    return wrong("must be a number from " + std::to_string(kLeast) + " to " +
                 std::to_string(kMost));
  request.*kField = static_cast<int>(*number);
  return {};
}

Status fill_kind(RenderRequest& request, std::string_view text) {
  const auto kind = choose(text, kKinds);
  if (!kind) return Error(kind.error());
  request.to = *kind;
  return {};
}

constexpr RenderFlag kOutput[] = {
    {"file", 'f', "FILE", fill_text<&RenderRequest::file>,
     "a manifest to write anew: TrainingRuntime, JobSet, Job, PyTorchJob, MPIJob, TrainJob"},
    {"to", 0, "KIND", fill_kind,
     "jobset (default), job, mpijob (default of --framework mpi), pytorchjob, trainjob"},
    {"output", 'o', "DIR", fill_text<&RenderRequest::output_dir>,
     "a file for each document in DIR, instead of stdout"},
    {"help", 'h', "", fill_switch<&RenderRequest::help>, "this text"},
};
constexpr RenderFlag kJob[] = {
    {"name", 0, "NAME", fill_text<&RenderRequest::name>, "of the job"},
    {"image", 'i', "IMAGE", fill_text<&RenderRequest::image>, "with muster and the program in it"},
    {"command", 0, "", fill_switch<&RenderRequest::replaces_entrypoint>,
     "the words replace the image's entrypoint, which is `muster run --` otherwise"},
    {"framework", 0, "NAME", fill_text<&RenderRequest::framework>,
     "pytorch, mpi, tensorflow, xgboost, plain, ..."},
    {"workers", 0, "N", fill_number<&RenderRequest::workers, 0, kMaxWorkers>,
     "pods, without the master"},
};
constexpr RenderFlagGroup kGroups[] = {{"Output", kOutput}, {"Job", kJob}};

const RenderFlag* find_flag(std::string_view name) {
  for (const RenderFlagGroup& group : kGroups)
    for (const RenderFlag& row : group.rows)
      if (row.name == name || (name.size() == 1 && name.front() == row.letter)) return &row;
  return nullptr;
}

// One flag at `words[i]`, of which `i` is then the last word.
Status take_flag(RenderRequest& request, std::span<const std::string> words, size_t& i) {
  const std::string& word = words[i];
  const bool is_long = word.starts_with("--");
  const size_t equals = is_long ? word.find('=') : std::string::npos;
  const std::string name = is_long ? word.substr(2, equals - 2) : word.substr(1, 1);
  const RenderFlag* const row = find_flag(name);
  if (row == nullptr || (is_long && name.size() == 1))
    return wrong("unknown flag '" + word + "'; `muster render --help` lists them");
  std::string text = equals == std::string::npos ? "" : word.substr(equals + 1);
  const bool is_joined = equals != std::string::npos || (!is_long && word.size() > 2);
  if (!is_long && is_joined) text = word.substr(word[2] == '=' ? 3 : 2);
  if (!is_joined && row->placeholder.empty()) text = "true";
  if (!is_joined && !row->placeholder.empty()) {
    if (i + 1 == words.size()) return wrong("--" + std::string(row->name) + " needs a value");
    text = words[++i];
  }
  request.given.emplace_back(row->name);
  if (auto filled = row->fill(request, text); !filled) {
    return std::move(filled).error().with_context("--" + std::string(row->name) + ": '" +
                                                  one_line(text) + "'");
  }
  return {};
}

}  // namespace

std::span<const RenderFlagGroup> render_flag_groups() { return kGroups; }

std::string render_help() {
  std::string text =
      "usage: muster render --name NAME --image IMAGE [flags] [--] PROGRAM [arguments]\n"
      "       muster render -f FILE [--to KIND] [-o DIR]\n\n"
      "Writes Kubernetes manifests of a job with muster as the entrypoint of its pods.\n";
  for (const RenderFlagGroup& group : kGroups) {
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
  RenderRequest request;
  size_t i = 0;
  for (; i < words.size(); ++i) {
    if (words[i] == "--" || words[i].size() < 2 || words[i].front() != '-') break;
    MUSTER_RETURN_IF_ERROR(take_flag(request, words, i));
    if (request.help) return request;
  }
  if (i < words.size() && words[i] == "--") ++i;
  request.words.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return request;
}

}  // namespace muster::launcher
