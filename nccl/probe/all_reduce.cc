#include "nccl/probe/all_reduce.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/clock.h"
#include "nccl/probe/cuda_driver.h"
#include "nccl/probe/deadline.h"
#include "nccl/probe/nccl_library.h"

namespace muster::probe {
namespace {

using nlohmann::json;

// From nccl.h.
constexpr int kInt32 = 2;
constexpr int kSum = 0;

constexpr size_t kWordBytes = sizeof(uint32_t);
constexpr size_t kLargeWords = (256U << 20) / kWordBytes;  // enough for the full rate of NVLink
constexpr size_t kSmallWords = 2;                          // 8 bytes
constexpr int kWarmUp = 5;
constexpr int kTimes = 20;

struct Rank {
  CudaDriver::Memory from = 0;
  CudaDriver::Memory to = 0;
  void* stream = nullptr;
  void* communicator = nullptr;
};

// As NCCL takes memory of a GPU.
void* pointer(CudaDriver::Memory memory) { return reinterpret_cast<void*>(memory); }

// Every rank of the communicator, each with its GPU.
class Ranks {
 public:
  Ranks(const CudaDriver& cuda, const NcclLibrary& nccl)
      : cuda_(cuda), nccl_(nccl), ranks_(static_cast<size_t>(cuda.device_count())) {}

  [[nodiscard]] int count() const { return static_cast<int>(ranks_.size()); }

  Status start() {
    MUSTER_RETURN_IF_ERROR(each([this](Rank& rank, int index) { return prepare(rank, index); }));
    NcclLibrary::UniqueId id{};
    MUSTER_RETURN_IF_ERROR(nccl_.call("ncclGetUniqueId", &id));
    // One thread for many ranks must say that their calls belong together.
    MUSTER_RETURN_IF_ERROR(nccl_.call("ncclGroupStart"));
    MUSTER_RETURN_IF_ERROR(each([this, &id](Rank& rank, int index) {
      return nccl_.call("ncclCommInitRank", &rank.communicator, count(), id, index);
    }));
    return nccl_.call("ncclGroupEnd");
  }

  /// Seconds for one of many.
  Result<double> time(size_t words) {
    MUSTER_RETURN_IF_ERROR(reduce(words, kWarmUp));
    const TimePoint begin = SystemClock().now();
    MUSTER_RETURN_IF_ERROR(reduce(words, kTimes));
    return to_seconds(SystemClock().now() - begin) / kTimes;
  }

  /// Whether each has the sum of all: of 1, 2, 3, ... at the first word and at the last one.
  Result<bool> is_correct(size_t words) {
    const auto wanted = static_cast<uint32_t>(count() * (count() + 1) / 2);
    bool is_right = true;
    MUSTER_RETURN_IF_ERROR(each([this, words, wanted, &is_right](Rank& rank, int) -> Status {
      for (const size_t word : {size_t{0}, words - 1}) {
        const auto value = cuda_.read(rank.to + word * kWordBytes);
        if (!value) return Error(value.error());
        is_right = is_right && *value == wanted;
      }
      return {};
    }));
    return is_right;
  }

 private:
  Status prepare(Rank& rank, int index) {
    for (CudaDriver::Memory* memory : {&rank.from, &rank.to}) {
      const auto allocated = cuda_.allocate(kLargeWords * kWordBytes);
      if (!allocated) return Error(allocated.error());
      *memory = *allocated;
    }
    MUSTER_RETURN_IF_ERROR(cuda_.fill(rank.from, static_cast<uint32_t>(index + 1), kLargeWords));
    MUSTER_RETURN_IF_ERROR(cuda_.fill(rank.to, 0, kLargeWords));
    // Our streams do not wait for what fills memory by themselves.
    MUSTER_RETURN_IF_ERROR(cuda_.finish(nullptr));
    const auto stream = cuda_.make_stream();
    if (!stream) return Error(stream.error());
    rank.stream = *stream;
    return {};
  }

  Status reduce(size_t words, int times) {
    for (int i = 0; i < times; ++i) {
      MUSTER_RETURN_IF_ERROR(nccl_.call("ncclGroupStart"));
      for (Rank& rank : ranks_) MUSTER_RETURN_IF_ERROR(reduce(rank, words));
      MUSTER_RETURN_IF_ERROR(nccl_.call("ncclGroupEnd"));
    }
    return each([this](Rank& rank, int) { return cuda_.finish(rank.stream); });
  }

  // The GPU need not be the current one: NCCL knows that of its communicator.
  Status reduce(Rank& rank, size_t words) {
    return nccl_.call("ncclAllReduce", pointer(rank.from), pointer(rank.to), words, kInt32, kSum,
                      rank.communicator, rank.stream);
  }

  // With its GPU as the current one.
  template <typename Call>
  Status each(Call call) {
    for (int index = 0; index < count(); ++index) {
      MUSTER_RETURN_IF_ERROR(cuda_.use_device(index));
      MUSTER_RETURN_IF_ERROR(call(ranks_[static_cast<size_t>(index)], index));
    }
    return {};
  }

  const CudaDriver& cuda_;
  const NcclLibrary& nccl_;
  std::vector<Rank> ranks_;
};

Result<json> measure(const CudaDriver& cuda, const NcclLibrary& nccl) {
  note_step("NCCL, which connects the GPUs");
  Ranks ranks(cuda, nccl);
  MUSTER_RETURN_IF_ERROR(ranks.start());
  note_step("an all-reduce of 8 bytes");
  const auto small = ranks.time(kSmallWords);
  if (!small) return Error(small.error());
  note_step("an all-reduce of 256 MiB");
  const auto large = ranks.time(kLargeWords);
  if (!large) return Error(large.error());
  const auto is_correct = ranks.is_correct(kLargeWords);
  if (!is_correct) return Error(is_correct.error());
  constexpr double kBytes = kLargeWords * kWordBytes;
  return json{{"ranks", ranks.count()},
              {"is_correct", *is_correct},
              {"latency_us", *small * 1e6},
              {"bytes", kLargeWords * kWordBytes},
              {"bytes_per_s", kBytes / *large},
              {"bus_bytes_per_s", bus_rate(ranks.count(), kBytes, *large)}};
}

}  // namespace

double bus_rate(int ranks, double bytes, double seconds) {
  return 2.0 * (ranks - 1) / ranks * bytes / seconds;
}

json all_reduce_facts(const Environment& environment) {
  const auto cuda = CudaDriver::load();
  if (!cuda) return {{"cuda", {{"absent", cuda.error().text}}}};
  json facts = {{"cuda", cuda->facts()}};
  if (cuda->device_count() == 0) return facts;
  const auto nccl = NcclLibrary::load(environment);
  if (!nccl) {
    facts["nccl"] = {{"absent", nccl.error().text}};
    return facts;
  }
  facts["nccl"] = {{"path", nccl->path()}};
  auto measured = measure(*cuda, *nccl);
  facts["allreduce"] = measured ? std::move(*measured) : json{{"problem", measured.error().text}};
  return facts;
}

}  // namespace muster::probe
