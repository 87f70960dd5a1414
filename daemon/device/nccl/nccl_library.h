// NcclLibrary: the functions of NVIDIA's NCCL (libnccl.so.2) that we call, loaded at run time.
//
// Building needs nothing of NCCL: the types below repeat the names, layouts and numbers of its
// interface (nccl.h). The library is opened once in a process and stays open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/cuda/cuda_driver.h"
#include "base/result.h"

namespace pace::device {

enum NcclResult : int {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclTimeout = 8,
};
using ncclResult_t = NcclResult;

enum NcclDataType : int {
    ncclFloat16 = 6,
    ncclFloat32 = 7,
    ncclFloat64 = 8,
    ncclBfloat16 = 9,
};
using ncclDataType_t = NcclDataType;

enum NcclRedOp : int { ncclSum = 0 };
using ncclRedOp_t = NcclRedOp;

struct NcclUniqueId {
    char internal[128];
};
using ncclUniqueId = NcclUniqueId;
using ncclComm_t = struct ncclComm*;

// 2.14, the first version that makes communicators without blocking.
inline constexpr int kNcclVersionMin = 21400;

// The structure of NCCL 2.14, which has grown since. A newer NCCL reads only `size` bytes, and uses
// defaults for fields added after `version`.
struct NcclConfig {
    size_t size = sizeof(NcclConfig);
    unsigned magic = 0xcafebeef;
    unsigned version = kNcclVersionMin;
    int blocking = 0;
};
using ncclConfig_t = NcclConfig;

// All return ncclResult_t.
#define PACE_NCCL_FUNCTIONS(X)                                                    \
    X(get_version, "ncclGetVersion", (int*))                                      \
    X(get_unique_id, "ncclGetUniqueId", (ncclUniqueId*))                          \
    X(comm_init_rank_config, "ncclCommInitRankConfig",                            \
      (ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*))                       \
    X(comm_get_async_error, "ncclCommGetAsyncError", (ncclComm_t, ncclResult_t*)) \
    X(comm_abort, "ncclCommAbort", (ncclComm_t))                                  \
    X(comm_finalize, "ncclCommFinalize", (ncclComm_t))                            \
    X(comm_destroy, "ncclCommDestroy", (ncclComm_t))                              \
    X(group_start, "ncclGroupStart", ())                                          \
    X(group_end, "ncclGroupEnd", ())                                              \
    X(all_reduce, "ncclAllReduce",                                                \
      (const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, base::cuda::CUstream))

struct NcclLibrary {
#define PACE_NCCL_MEMBER(name, symbol, parameters) ncclResult_t(*name) parameters = nullptr;
    PACE_NCCL_FUNCTIONS(PACE_NCCL_MEMBER)
#undef PACE_NCCL_MEMBER
    const char* (*get_error_string)(ncclResult_t) = nullptr;
    const char* (*get_last_error)(ncclComm_t) = nullptr;  // null if NCCL lacks it
    int version = 0;                                      // 22105: NCCL 2.21.5

    // Error: unavailable, with the reason: the library is missing, too old, or incomplete. All
    // calls return the result of the first. Any thread; the first call may block for seconds.
    static const base::Result<const NcclLibrary*>& get();

    // Makes an error of a failed result: "WHAT: meaning (number)", and NCCL's last message.
    base::Error error(ncclResult_t result, std::string_view what) const;
    // Returns an error if a call has failed. A call still in progress has not failed.
    base::Result<> check(ncclResult_t result, std::string_view what) const {
        if (result == ncclSuccess || result == ncclInProgress) return {};
        return error(result, what);
    }
};

// Formats a version, such as "2.21.5".
std::string nccl_version_text(int version);

// NCCL's type for an element type as in plugin.h. Error: invalid, if NCCL has none.
base::Result<ncclDataType_t> nccl_type_of(uint32_t dtype);

}  // namespace pace::device
