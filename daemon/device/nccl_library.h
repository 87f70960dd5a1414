// NcclLibrary: the functions of NVIDIA's NCCL (libnccl.so.2) that we call, found at run time.
//
// Nothing of NCCL is needed to build this: the types below have its interface's own names, layouts and numbers (nccl.h). The library is
// opened once in a process and stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/cuda_driver.h"
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

inline constexpr int kNcclVersionMin =
    21400;  // 2.14, the first with communicators that are made without blocking

// As it was in NCCL 2.14. It has grown since; a newer NCCL reads as much as `size` says, and for what came after `version` takes its defaults.
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
    const char* (*get_last_error)(ncclComm_t) = nullptr;  // may be missing
    int version = 0;                                      // 22105: NCCL 2.21.5

    // Fails with `unavailable` and the reason: there is none, it is too old, or not all there. The answer of the first call is that of
    // all. Any thread; the first call may block for seconds.
    static const base::Result<const NcclLibrary*>& get();

    // Of a result that is an error: "WHAT: what it means (number)", and what NCCL has last said of it.
    base::Error error(ncclResult_t result, std::string_view what) const;
    // A call that has only begun its work has not failed.
    base::Result<> check(ncclResult_t result, std::string_view what) const {
        if (result == ncclSuccess || result == ncclInProgress) return {};
        return error(result, what);
    }
};

// "2.21.5"
std::string nccl_version_text(int version);

// Of an element type as in plugin.h; `invalid` if NCCL sums none such.
base::Result<ncclDataType_t> nccl_type_of(uint32_t dtype);

}  // namespace pace::device
