// A manifest of anybody's: YAML as it is read and written again, the workload in it, the command
// line that a node of it has on a desk, and what `muster render -f` makes of it. Each takes it or
// says in a line what is wrong. Input: the text of the file; its size chooses the kind that is
// rendered.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/check.h"
#include "launcher/command_line/command_line.h"
#include "launcher/manifest/container_command.h"
#include "launcher/manifest/workload.h"
#include "launcher/manifest/yaml_reader.h"
#include "launcher/manifest/yaml_writer.h"
#include "launcher/render/render.h"
#include "launcher/render/render_flags.h"
#include "tests/support/fake_files.h"

namespace {

using namespace muster;
using namespace muster::launcher;

constexpr const char* kPath = "/m.yaml";
constexpr const char* kKinds[] = {"job", "jobset", "mpijob", "pytorchjob", "trainjob"};

void check_error(const Error& error) {
  MUSTER_CHECK(error.code == Code::kUsage || error.code == Code::kLimit);
  MUSTER_CHECK(!error.text.empty());
}

void check_yaml(const std::string& text) {
  const auto documents = read_yaml(text);
  if (!documents) return check_error(documents.error());
  const std::string written = write_yaml(*documents);
  if (written.size() > kMaxYamlBytes) return;
  const auto again = read_yaml(written);
  MUSTER_CHECK(again && *again == *documents);
}

void check_workload(const std::string& text) {
  const auto workload = read_workload(text);
  if (!workload) return check_error(workload.error());
  MUSTER_CHECK(node_count(*workload) > 0 && !workload->replicas.empty());
  MUSTER_CHECK(find_value(*workload, flag::kNnodes) != nullptr);
  for (const Replica& replica : workload->replicas) {
    const auto command = read_container_command(*workload, replica, "2");
    if (!command) check_error(command.error());
  }
}

void check_command_line(const Files& files, const char* node_rank) {
  const Environment environment;
  const PodFacts pod{environment, files, "node-1"};
  const auto command_line =
      read_command_line({Personality::kMuster, "muster", {"-f", kPath, "--node-rank", node_rank}},
                        environment, RandomBytes{}, &pod);
  if (command_line) return;
  check_error(command_line.error());
  MUSTER_CHECK(command_line.error().text.find('\n') == std::string::npos);
}

void check_render(const Files& files, const char* kind) {
  const std::string words[] = {"-f", kPath, "--to", kind};
  const auto request = parse_render_flags(words);
  MUSTER_CHECK(request);
  const auto rendered = render(*request, files);
  if (!rendered) return check_error(rendered.error());
  const auto again = read_yaml(write_yaml(rendered->documents));
  MUSTER_CHECK(again && again->size() == rendered->documents.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_yaml(text);
  check_workload(text);
  muster::testing::FakeFiles files;
  files.add_file(kPath, text);
  for (const char* const node_rank : {"0", "1"}) check_command_line(files, node_rank);
  check_render(files, kKinds[size % std::size(kKinds)]);
  return 0;
}
