// Operation: one call of a verb, as the trainer makes it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/cuda/cuda_driver.h"
#include "base/result.h"
#include "libclient/connection/buffer.h"
#include "libclient/options/job_options.h"
#include "protocol/types.h"

namespace pace::client {

// A stream and the GPU to which the stream belongs.
struct Stream {
    uint32_t ordinal = 0;
    base::cuda::CUstream stream = nullptr;
};

// The name of Operation::results in messages, as callers of the C interface write it.
inline constexpr std::string_view kResults = "options->call.results";

struct Operation {
    protocol::Verb verb = protocol::Verb::barrier;
    std::span<const Slice> slices{};
    // Where the result goes. There are as many result slices as slices, with equal counts and
    // types. Empty means that the result goes to the slices.
    std::span<const Slice> results{};
    // The session tells this value with the end of the request.
    uint64_t user_data = 0;
    // The stream that makes the buffers' contents, if the buffers are on a GPU. Without a value it
    // is the GPU's default stream.
    std::optional<Stream> after{};
    uint64_t iteration = 0;
    protocol::ReduceOp op = protocol::ReduceOp::mean;
    uint32_t root = 0;
    protocol::Order order = protocol::Order::all_at_once;  // for average
    bool keep_local = false;                               // for average
    bool sparse = false;   // for push: the slices are indices and values
    uint64_t first = 0;    // for push and pull
    uint64_t entries = 0;  // for push
};

// Checks all that does not depend on the buffers. Fails with `verb` if the job's family does not
// have the operation's verb, and with `invalid` for wrong arguments.
base::Result<> check(const Operation& operation, const KnownJob& job);

// Fails with `verb` if the workers of the job do not average in groups.
base::Result<> check_has_groups(const KnownJob& job);

}  // namespace pace::client
