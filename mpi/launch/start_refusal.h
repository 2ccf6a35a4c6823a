// Why an MPI's launcher or daemon did not start ranks, in its own words. Pure. Its exit code says
// nothing of it, and what ends because of it is noticed in the same moment.
#pragma once

#include <string>
#include <string_view>

namespace muster::mpi {

/// From the end of its stderr: "unable to change wdir to /srv/job (No such file or directory)".
/// Only of lines that can mean nothing else. "" = there is none.
[[nodiscard]] std::string start_refusal(std::string_view last_words);

}  // namespace muster::mpi
