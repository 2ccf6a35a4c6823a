#include "launcher/output/output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/log.h"

namespace muster::launcher {

namespace {

bool any_stream(const StreamsByRank& mask) {
  return mask.otherwise != Streams{} ||
         std::any_of(mask.by_local_rank.begin(), mask.by_local_rank.end(),
                     [](const auto& entry) { return entry.second != Streams{}; });
}

bool wants_files(const OutputOptions& options) {
  return !options.attempt_dir.empty() || options.log_dir.has_value() ||
         any_stream(options.redirects) || any_stream(options.tee);
}

bool covers(const StreamsByRank& mask, const WorkerLabel& worker, bool is_stderr) {
  const Streams streams = worker.is_launcher ? mask.otherwise : mask.of(worker.local_rank);
  return is_stderr ? streams.err : streams.out;
}

std::string folder_name(const WorkerLabel& worker, bool by_rank) {
  if (worker.is_launcher) return "launcher";
  return std::to_string(by_rank ? worker.rank : worker.local_rank);
}

// A folder that somebody named and that cannot be one is their setting; a full disk is not.
Error no_folders(const OutputOptions& options, Error error) {
  if (!options.log_dir) return std::move(error).with_context("logs in a temporary folder");
  constexpr std::array kWrongPlace = {ENOTDIR, EEXIST, EACCES,       EPERM,
                                      EROFS,   ENOENT, ENAMETOOLONG, ELOOP};
  if (std::ranges::find(kWrongPlace, error.os_errno) != kWrongPlace.end())
    error.code = Code::kConfig;
  return std::move(error).with_context("--log-dir");
}

}  // namespace

Result<std::unique_ptr<Output>> Output::create(Loop& loop, Files& files, Console& console,
                                               OutputOptions options) {
  auto suffix = random_suffix();
  if (!suffix) return std::move(suffix).error();
  LogPlace place{.log_dir = options.log_dir,
                 .temp_dir = options.temp_dir,
                 .run_id = options.run_id,
                 .suffix = *suffix,
                 .error_files_only = !wants_files(options),
                 .node = options.node,
                 .attempt_dir = options.attempt_dir};
  std::unique_ptr<Output> output(
      new Output(loop, files, console, std::move(options), std::move(place)));
  const bool own_folder = output->options_.attempt_dir.empty();
  if (own_folder && wants_files(output->options_) && output->log_files_.are_enabled()) {
    if (auto made = output->log_files_.make_run_dir(); !made)
      return no_folders(output->options_, std::move(made).error());
    // Else there are folders for error files alone.
    if (any_stream(output->options_.redirects) || any_stream(output->options_.tee))
      log::info("output.files", {{"folder", output->log_files_.run_dir()}});
  }
  return output;
}

Output::Output(Loop& loop, Files& files, Console& console, OutputOptions options, LogPlace place)
    : loop_(loop),
      files_(files),
      console_(console),
      options_(std::move(options)),
      log_files_(files, std::move(place)),
      buffer_(std::make_unique_for_overwrite<char[]>(kReadBytes)),
      out_reader_(loop, console.out(), std::span(buffer_.get(), kReadBytes)),
      err_reader_(loop, console.err(), std::span(buffer_.get(), kReadBytes)) {
  for (const bool is_stderr : {false, true}) {
    Sink& sink = is_stderr ? console_.err() : console_.out();
    sink.set_listener([this, is_stderr] { on_sink_changed(reader_of(is_stderr)); });
  }
}

Output::~Output() {
  console_.out().set_listener({});
  console_.err().set_listener({});
}

FairReader& Output::reader_of(bool is_stderr) {
  const bool is_shared = &console_.out() == &console_.err();
  return is_stderr && !is_shared ? err_reader_ : out_reader_;
}

const Output::Worker* Output::find(int local_rank) const {
  const auto found = std::find_if(
      workers_.begin(), workers_.end(),
      [local_rank](const Worker& worker) { return worker.label.local_rank == local_rank; });
  return found == workers_.end() ? nullptr : &*found;
}

Status Output::open_attempt(int attempt, const std::vector<WorkerLabel>& workers) {
  close_attempt();
  MUSTER_RETURN_IF_ERROR(make_folders(attempt, workers));
  Status opened = open_filtered_files();
  if (opened) opened = open_workers(workers);
  if (!opened) {
    close_attempt();
    return opened;
  }
  opened_once_ = true;
  return {};
}

Status Output::make_folders(int attempt, const std::vector<WorkerLabel>& workers) {
  std::vector<std::string> names;
  for (const WorkerLabel& worker : workers) names.push_back(folder_name(worker, options_.by_rank));
  Status made = log_files_.make_attempt(attempt, names);
  has_error_files_ = made.has_value() && log_files_.are_enabled();
  has_folders_ = has_error_files_ && wants_files(options_);
  if (made) return {};
  if (wants_files(options_) && !opened_once_) return no_folders(options_, std::move(made).error());
  if (!std::exchange(warned_of_folders_, true)) {
    log::warning("output.no_folders", {{"error", made.error().text},
                                       {"action", "going on without log and error files"}});
  }
  return {};
}

// The descriptor, or a closed one when the job goes on without the file.
Result<UniqueFd> Output::open_log_file(const std::string& path) {
  auto fd = files_.create(path);
  if (fd || !opened_once_) return fd;
  log::warning("output.no_file", {{"error", fd.error().text}, {"action", "console only"}});
  return UniqueFd();
}

Status Output::open_filtered_files() {
  if (!has_folders_) return {};
  for (const bool is_stderr : {false, true}) {
    const auto& needles = is_stderr ? options_.stderr_filters : options_.stdout_filters;
    if (needles.empty()) continue;
    const std::string path = log_files_.filtered_file(is_stderr);
    auto fd = open_log_file(path);
    if (!fd) return std::move(fd).error();
    if (!fd->is_open()) continue;
    (is_stderr ? filtered_err_ : filtered_out_).emplace(LogFile(std::move(*fd), path), needles);
  }
  return {};
}

Status Output::open_workers(const std::vector<WorkerLabel>& workers) {
  for (const WorkerLabel& label : workers) {
    Worker& worker = workers_.emplace_back(Worker{label, {}, {}});
    for (const bool is_stderr : {false, true}) {
      auto slot = open_slot(label, is_stderr);
      if (!slot) {
        return std::move(slot).error().with_context((is_stderr ? "stderr" : "stdout") +
                                                    std::string(" of local rank ") +
                                                    std::to_string(label.local_rank));
      }
      (is_stderr ? worker.err : worker.out) = std::move(*slot);
    }
  }
  return {};
}

StreamWishes Output::wishes_of(const WorkerLabel& worker, bool is_stderr) {
  StreamWishes wishes;
  wishes.redirect = has_folders_ && covers(options_.redirects, worker, is_stderr);
  wishes.tee = has_folders_ && covers(options_.tee, worker, is_stderr);
  const std::vector<int>& filter = options_.local_ranks_filter;
  wishes.shown = filter.empty() || worker.is_launcher ||
                 std::find(filter.begin(), filter.end(), worker.local_rank) != filter.end();
  wishes.prefixed = !options_.prefix_template.empty() && !worker.is_launcher &&
                    (wishes.tee || !options_.prefix_tee_only);
  wishes.terminal =
      !options_.like_ours && (is_stderr ? console_.err() : console_.out()).is_terminal();
  return wishes;
}

Result<Output::Slot> Output::open_slot(const WorkerLabel& worker, bool is_stderr) {
  Slot slot;
  const StreamWishes wishes = wishes_of(worker, is_stderr);
  slot.mode = choose_stream_mode(wishes);
  UniqueFd log_file;
  if (slot.mode == StreamMode::kFile || slot.mode == StreamMode::kTee) {
    slot.file_path = log_files_.stream_file(folder_name(worker, options_.by_rank), is_stderr);
    auto created = open_log_file(slot.file_path);
    if (!created) return std::move(created).error();
    log_file = std::move(*created);
    if (!log_file.is_open()) slot.mode = wishes.shown ? StreamMode::kConsole : StreamMode::kKept;
  }
  switch (slot.mode) {
    case StreamMode::kInherit:
      break;
    case StreamMode::kFile:
      slot.child_end = std::move(log_file);
      break;
    case StreamMode::kTee:
    case StreamMode::kConsole:
    case StreamMode::kKept:
      MUSTER_RETURN_IF_ERROR(connect(slot, worker, is_stderr, std::move(log_file)));
      break;
  }
  return slot;
}

Status Output::connect(Slot& slot, const WorkerLabel& worker, bool is_stderr, UniqueFd log_file) {
  Sink& sink = is_stderr ? console_.err() : console_.out();
  auto pipe =
      options_.like_ours && sink.is_terminal() ? make_terminal(is_stderr ? 2 : 1) : make_pipe();
  if (!pipe) return std::move(pipe).error();
  MUSTER_RETURN_IF_ERROR(set_nonblocking(pipe->read_end.get()));
  slot.child_end = std::move(pipe->write_end);

  Source source{worker.rank, is_stderr, {}, options_.unfinished_after};
  if (wishes_of(worker, is_stderr).prefixed) {
    source.prefix = expand_prefix(options_.prefix_template, worker);
  }
  std::optional<LogFile> file;
  if (log_file.is_open()) file.emplace(std::move(log_file), slot.file_path);
  auto& filtered = is_stderr ? filtered_err_ : filtered_out_;
  slot.stream = std::make_unique<WorkerStream>(
      std::move(source), slot.mode == StreamMode::kKept ? nullptr : &sink,
      std::move(pipe->read_end), std::move(file),
      slot.mode == StreamMode::kTee && filtered ? &*filtered : nullptr);
  if (options_.listener) {
    slot.stream->set_listener([this, local_rank = worker.local_rank](std::string_view lines) {
      options_.listener(local_rank, lines);
    });
  }
  return slot.stream->watch(loop_, [&reader = reader_of(is_stderr), stream = slot.stream.get()] {
    reader.on_readable(*stream);
  });
}

ChildStreams Output::child_streams(int local_rank) const {
  const Worker* worker = find(local_rank);
  MUSTER_CHECK(worker != nullptr);
  return {worker->out.child_end.get(), worker->err.child_end.get()};
}

std::string Output::log_dir() const {
  return wants_files(options_) ? log_files_.attempt_dir() : "";
}

WorkerPaths Output::paths(int local_rank) const {
  const Worker* worker = find(local_rank);
  if (worker == nullptr) return {};
  const std::string name = folder_name(worker->label, options_.by_rank);
  return {has_error_files_ ? log_files_.error_file(name) : "",
          has_folders_ ? log_files_.folder(name) : ""};
}

void Output::child_started(int local_rank) {
  for (Worker& worker : workers_) {
    if (worker.label.local_rank != local_rank) continue;
    worker.out.child_end.reset();
    worker.err.child_end.reset();
  }
}

void Output::drain(int local_rank) {
  const Worker* worker = find(local_rank);
  if (worker == nullptr) return;
  if (worker->out.stream) reader_of(false).drain(*worker->out.stream);
  if (worker->err.stream) reader_of(true).drain(*worker->err.stream);
}

std::vector<std::string> Output::last_lines(int local_rank) const {
  const Worker* worker = find(local_rank);
  if (worker == nullptr) return {};
  for (const Slot* slot : {&worker->err, &worker->out}) {
    std::string text;
    if (slot->stream) {
      text = slot->stream->recent();
    } else if (slot->mode == StreamMode::kFile) {
      // An unreadable log leaves the record without lines, which is all there is to say.
      text = read_end(slot->file_path, kRecentBytes).value_or("");
    }
    auto lines = last_lines_of(text);
    if (!lines.empty()) return lines;
  }
  return {};
}

void Output::close_attempt() {
  for (Worker& worker : workers_) {
    drain(worker.label.local_rank);
    if (worker.out.stream) worker.out.stream->close();
    if (worker.err.stream) worker.err.stream->close();
  }
  out_reader_.clear();
  err_reader_.clear();
  workers_.clear();
  for (auto* filtered : {&filtered_out_, &filtered_err_}) {
    if (*filtered) (*filtered)->report_lost();
    filtered->reset();
  }
  has_folders_ = has_error_files_ = false;
}

void Output::flush(Duration deadline, std::function<void()> done) {
  flush_done_ = std::move(done);
  const Duration wait = console_.is_drained() ? Duration::zero() : deadline;
  flush_timer_ = loop_.after(wait, [this] {
    console_.abandon();
    std::exchange(flush_done_, {})();
  });
}

void Output::on_sink_changed(FairReader& reader) {
  reader.on_room();
  if (!flush_done_ || !console_.is_drained()) return;
  flush_timer_ = loop_.soon([this] { std::exchange(flush_done_, {})(); });
}

}  // namespace muster::launcher
