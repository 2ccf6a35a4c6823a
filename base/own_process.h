// What a process that stands above another one does to itself, so that nobody sees it there.
#pragma once

namespace muster {

/// Ends this process by `signal`, as its child was, but without a core. Comes back when the signal
/// ends nobody.
void end_by_signal(int signal);

/// Leaves the process group, unless this process leads it, for one of its own: what is sent to the
/// group that a child is in comes to the child alone.
void leave_process_group();

}  // namespace muster
