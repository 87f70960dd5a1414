// The exports of the simulated NCCL: each function of PACE_NCCL_FUNCTIONS under its name, and the
// texts of its results.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "tests/simulated_gpu/driver/named_parameters.h"
#include "tests/simulated_gpu/driver/state/handles.h"
#include "tests/simulated_gpu/nccl/nccl_rank.h"
#include "tests/simulated_gpu/nccl/nccl_rendezvous.h"
#include "tests/simulated_gpu/nccl/nccl_settings.h"
#include "tests/simulated_gpu/nccl/nccl_sum.h"

namespace pace::simulated_gpu {

using base::cuda::CudaDriver;
using base::cuda::CUstream;

namespace {

// The calls of this thread between ncclGroupStart and ncclGroupEnd.
struct Group {
    unsigned depth = 0;
    bool begun = false;  // whether communicators have begun
    ncclResult_t error = ncclSuccess;
    std::vector<std::pair<std::shared_ptr<Rank>, std::vector<Rank::Sum>>> sums;
};
thread_local Group group;

using RankHandles = Handles<ncclComm_t, Rank>;

RankHandles& ranks() {
    static auto& all = *new RankHandles(uint64_t{8} << 40U);
    return all;
}

ncclResult_t end_group() {
    const Group ended = std::exchange(group, {});
    if (ended.error != ncclSuccess) return ended.error;
    for (const auto& [rank, sums] : ended.sums) rank->queue(sums);
    return ended.begun || !ended.sums.empty() ? ncclInProgress : ncclSuccess;
}

// Every call passes here. The function returns the fault that a test has asked for. An error within
// a group is the error of the group.
template <typename Work>
ncclResult_t call(NcclCall which, Work work) {
    static std::array<std::atomic<uint64_t>, kNcclSymbols.size()> calls_so_far;
    const auto index = static_cast<size_t>(which);
    const uint64_t failing = nccl_settings().failing_calls[index];
    if (const uint64_t slow_us = nccl_settings().slow_us[index]; slow_us != 0)
        std::this_thread::sleep_for(std::chrono::microseconds(slow_us));
    ncclResult_t result = ncclSuccess;
    if (!nccl_settings().valid)
        result = ncclInvalidUsage;
    else if (failing != 0 && ++calls_so_far[index] >= failing)
        result = ncclSystemError;
    else
        result = work();
    if (result != ncclSuccess && result != ncclInProgress && group.error == ncclSuccess &&
        group.depth > 0)
        group.error = result;
    return result;
}

// Only communicators that are made without blocking are simulated.
bool is_known(const ncclConfig_t* config) {
    const ncclConfig_t known;
    return config != nullptr && config->size >= known.size && config->magic == known.magic &&
           config->version >= known.version && config->blocking == 0;
}

// A communicator that has not settled takes no work. A communicator with an error takes none
// either.
ncclResult_t find_ready(ncclComm_t handle, std::shared_ptr<Rank>& ret_rank) {
    ret_rank = ranks().find(handle);
    if (ret_rank == nullptr) return ncclInvalidArgument;
    const ncclResult_t state = ret_rank->state();
    return state == ncclInProgress ? ncclInvalidArgument : state;
}

ncclResult_t get_version(int* ret_version) {
    prepare_rendezvous();
    *ret_version = nccl_settings().version;
    return ncclSuccess;
}

ncclResult_t get_unique_id(ncclUniqueId* ret_id) {
    return open_rendezvous(*ret_id) ? ncclSuccess : ncclSystemError;
}

ncclResult_t comm_init_rank_config(ncclComm_t* ret_handle, int world, ncclUniqueId id, int rank,
                                   ncclConfig_t* config) {
    const auto& driver = CudaDriver::get();
    if (!driver) return ncclUnhandledCudaError;
    if (ret_handle == nullptr || world < 1 || rank < 0 || rank >= world || !is_known(config))
        return ncclInvalidArgument;
    auto joined = Rank::join(**driver, id, world, rank);
    if (joined == nullptr) return ncclUnhandledCudaError;
    *ret_handle = ranks().add(std::move(joined));
    if (group.depth > 0) group.begun = true;
    return ncclInProgress;
}

ncclResult_t comm_get_async_error(ncclComm_t handle, ncclResult_t* ret_state) {
    const auto rank = ranks().find(handle);
    if (rank == nullptr || ret_state == nullptr) return ncclInvalidArgument;
    *ret_state = rank->state();
    return ncclSuccess;
}

ncclResult_t comm_abort(ncclComm_t handle) {
    const auto rank = ranks().take(handle);
    if (rank == nullptr) return ncclInvalidArgument;
    rank->abort();
    return ncclSuccess;
}

ncclResult_t comm_finalize(ncclComm_t handle) {
    std::shared_ptr<Rank> rank;
    if (const ncclResult_t refused = find_ready(handle, rank); refused != ncclSuccess)
        return refused;
    rank->finalize();
    return ncclInProgress;
}

ncclResult_t comm_destroy(ncclComm_t handle) {
    const auto rank = ranks().find(handle);
    if (rank == nullptr) return ncclInvalidArgument;
    rank->await_settled();
    return comm_abort(handle);
}

ncclResult_t group_start() {
    ++group.depth;
    return ncclSuccess;
}

ncclResult_t group_end() {
    if (group.depth == 0) return ncclInvalidUsage;
    if (--group.depth > 0) return ncclSuccess;
    return end_group();
}

ncclResult_t all_reduce(const void* from, void* to, size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, ncclComm_t handle, CUstream stream) {
    std::shared_ptr<Rank> rank;
    if (const ncclResult_t refused = find_ready(handle, rank); refused != ncclSuccess)
        return refused;
    if (from == nullptr || to == nullptr || size_of(type) == 0 || operation != ncclSum)
        return ncclInvalidArgument;
    if (group.sums.empty() || group.sums.back().first != rank) group.sums.push_back({rank, {}});
    group.sums.back().second.push_back({from, to, count * size_of(type), type, stream});
    return group.depth > 0 ? ncclSuccess : end_group();
}

// The texts by result.
constexpr std::array kTexts{
    "no error",
    "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    "unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "internal error - please report this issue to the NCCL developers",
    "invalid argument (run with NCCL_DEBUG=WARN for details)",
    "invalid usage (run with NCCL_DEBUG=WARN for details)",
    "remote process exited or there was a network error",
    "NCCL operation in progress",
};

}  // namespace

#define PACE_NCCL_EXPORT(name, symbol, parameters)                                              \
    __attribute__((visibility("default"))) ncclResult_t exported_##name parameters asm(symbol); \
    ncclResult_t exported_##name(PACE_NAMED(parameters)) {                                      \
        return call(NcclCall::name, [&] { return name(PACE_NAMES(parameters)); });              \
    }
PACE_NCCL_FUNCTIONS(PACE_NCCL_EXPORT)
#undef PACE_NCCL_EXPORT

__attribute__((visibility("default"))) const char* exported_error_string(ncclResult_t result) asm(
    "ncclGetErrorString");
const char* exported_error_string(ncclResult_t result) {
    const auto index = static_cast<size_t>(result);
    return index < kTexts.size() ? kTexts[index] : "unknown result code";
}

__attribute__((visibility("default")))
const char* exported_last_error(ncclComm_t) asm("ncclGetLastError");
const char* exported_last_error(ncclComm_t) {
    return last_error();
}

}  // namespace pace::simulated_gpu
