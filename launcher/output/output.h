// Output: everything the workers of this node print. Makes the pipes and files of an attempt, lets
// them be read fairly, and knows the last lines of each. Starting and reaping workers is the
// supervisor's; calling this at the right moments is the agent's, or, below a launcher of MPI, that
// of `muster rank` for its one rank.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/output/console.h"
#include "launcher/output/fair_reader.h"
#include "launcher/output/log_files.h"
#include "launcher/output/prefix_template.h"
#include "launcher/output/stream_mode.h"
#include "launcher/output/worker_stream.h"

namespace muster::launcher {

struct OutputOptions {
  std::optional<std::string> log_dir;  ///< none = temporary; /dev/null = no files at all
  std::string temp_dir = "/tmp";       ///< of find_temporary_place()
  std::string run_id;
  std::string node;  ///< LogPlace::node
  /// Of an agent that has made it, for one of its ranks; then log_dir means nothing. "" = none.
  std::string attempt_dir;
  bool by_rank = false;  ///< folders are named by the rank in the job, not on its node
  StreamsByRank redirects;
  StreamsByRank tee;
  bool like_ours = false;  ///< a terminal for each stream, if ours is one
  Duration unfinished_after = kUnfinishedShownAfter;
  std::string prefix_template;              ///< "" = no prefix
  bool prefix_tee_only = false;             ///< torchrun: only tee'd streams get the prefix
  std::vector<int> local_ranks_filter;      ///< empty = all ranks reach the console
  std::vector<std::string> stdout_filters;  ///< needles; empty = no filtered_stdout.log
  std::vector<std::string> stderr_filters;
  /// Gets what passes through us, as WorkerStream::set_listener(); empty = nobody wants it.
  std::function<void(int local_rank, std::string_view lines)> listener = {};
};

/// Descriptors for SpawnRequest, borrowed until child_started(); -1 = inherit.
struct ChildStreams {
  int stdout_fd = -1;
  int stderr_fd = -1;
  [[nodiscard]] bool are_inherited() const { return stdout_fd < 0 && stderr_fd < 0; }
};

struct WorkerPaths {
  std::string error_file;  ///< for TORCHELASTIC_ERROR_FILE; "" = none
  std::string logs;        ///< the folder of its log files; "" = nobody asked for files
};

class Output {
 public:
  /// All borrowed for the life of this object. When files were asked for (a log_dir, redirects,
  /// tee), the folder of this run is made at once: kOs names its path.
  static Result<std::unique_ptr<Output>> create(Loop& loop, Files& files, Console& console,
                                                OutputOptions options);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  /// Makes folders, files and pipes of an attempt; closes the one before. kOs: no descriptors left,
  /// or, in the first attempt, files that were asked for cannot be made (later attempts go on
  /// without, with a warning, and so does any that needs only error files). After an error nothing
  /// is open.
  Status open_attempt(int attempt, const std::vector<WorkerLabel>& workers);
  [[nodiscard]] ChildStreams child_streams(int local_rank) const;
  /// Before close_attempt().
  [[nodiscard]] WorkerPaths paths(int local_rank) const;
  [[nodiscard]] std::string log_dir() const;  ///< of the attempt; "" = nobody asked for files
  /// The worker was started, or never will be: closes the child's ends.
  void child_started(int local_rank);

  /// The worker is gone: passes on what is in its pipes now. They stay open until close_attempt()
  /// for what its children may still print; nothing waits for them.
  void drain(int local_rank);
  /// The last lines of its stderr, or, when it printed none, of its stdout (last_lines_of()); empty
  /// for an inherited stream. After drain(), before close_attempt().
  [[nodiscard]] std::vector<std::string> last_lines(int local_rank) const;

  /// All workers are gone: takes what is left in the pipes, closes everything.
  void close_attempt();
  /// Calls `done` from the loop, once: when everything is shown, or after `deadline`, when the rest
  /// is given up and counted (Console::problems).
  void flush(Duration deadline, std::function<void()> done);

 private:
  struct Slot {  // one stream of one worker
    StreamMode mode = StreamMode::kInherit;
    UniqueFd child_end;
    std::string file_path;                 // of kFile
    std::unique_ptr<WorkerStream> stream;  // of kTee, kConsole and kKept
  };
  struct Worker {
    WorkerLabel label;
    Slot out;
    Slot err;
  };

  Output(Loop& loop, Files& files, Console& console, OutputOptions options, LogPlace place);
  Status make_folders(int attempt, const std::vector<WorkerLabel>& workers);
  Status open_filtered_files();
  Status open_workers(const std::vector<WorkerLabel>& workers);
  [[nodiscard]] StreamWishes wishes_of(const WorkerLabel& worker, bool is_stderr);
  Result<Slot> open_slot(const WorkerLabel& worker, bool is_stderr);
  Result<UniqueFd> open_log_file(const std::string& path);
  Status connect(Slot& slot, const WorkerLabel& worker, bool is_stderr, UniqueFd log_file);
  [[nodiscard]] FairReader& reader_of(bool is_stderr);
  [[nodiscard]] const Worker* find(int local_rank) const;
  void on_sink_changed(FairReader& reader);

  Loop& loop_;
  Files& files_;
  Console& console_;
  const OutputOptions options_;
  LogFiles log_files_;
  bool has_error_files_ = false;  // of this attempt
  bool has_folders_ = false;      // of this attempt, for logs
  bool opened_once_ = false;
  bool warned_of_folders_ = false;
  std::unique_ptr<char[]> buffer_;
  FairReader out_reader_;
  FairReader err_reader_;  // unused when stdout and stderr are one sink
  std::optional<FilteredFile> filtered_out_;
  std::optional<FilteredFile> filtered_err_;
  std::vector<Worker> workers_;
  std::function<void()> flush_done_;
  Timer flush_timer_;
};

}  // namespace muster::launcher
