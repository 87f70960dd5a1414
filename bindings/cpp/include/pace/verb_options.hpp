// verb_options: what verbs are called with besides their buffers. All have defaults;
// session.average(model, {step}) sets the first.
//
// Members that several have:
//   iteration  the worker's step: its own count (average, reduce) or its clock (push, pull)
//   user_data  any number; request_info::user_data tells it with the end
//   results    where the result goes instead of to the buffers: a slice for each, of its type
//              and length; empty: in place
//   where, stream  for buffers on a GPU: their contents are made on this stream (a cudaStream_t
//              or CUstream; null: the default stream) of this GPU, which must be theirs; by
//              default on the default stream of the buffers' GPU
#pragma once

#include <pace/buffer.hpp>

#include <cstdint>
#include <vector>

namespace pace {

// How a trainer says which elements of its buffers are ready, counted over all of them as one
// vector.
enum class order : std::int32_t {
    all_at_call = PACE_ORDER_DEFAULT,
    forward = PACE_ORDER_FORWARD,   // request::ready() tells how many of the first
    backward = PACE_ORDER_BACKWARD  // request::ready() tells how many of the last
};

// What reduce() makes of the gradients.
enum class op : std::int32_t { mean = PACE_OP_MEAN, sum = PACE_OP_SUM };

// What average() is called with.
struct average_options {
    std::uint64_t iteration = 0;
    pace::order order = pace::order::all_at_call;  // all workers give the same
    // A copy is averaged while the trainer goes on with its steps; the average minus the copy is
    // added to the buffers by the thread that collects the request. See pace_average_options in
    // pace.h. Without results, and without an order.
    bool keep_local = false;
    std::uint64_t user_data = 0;
    std::vector<slice> results = {};
    device where = {};
    void* stream = nullptr;
};

// What reduce() is called with.
struct reduce_options {
    std::uint64_t iteration = 0;   // for status displays and for newcomers
    pace::op op = pace::op::mean;  // all workers give the same
    std::uint64_t user_data = 0;
    std::vector<slice> results = {};
    device where = {};
    void* stream = nullptr;
};

// What broadcast() is called with.
struct broadcast_options {
    std::uint32_t root = 0;       // 0 .. world-1
    std::uint64_t iteration = 0;  // taken no notice of
    std::uint64_t user_data = 0;
    device where = {};
    void* stream = nullptr;
};

// What sync() is called with.
struct sync_options {
    std::uint64_t iteration = 0;  // taken no notice of
    std::uint64_t user_data = 0;
    std::vector<slice> results = {};
    device where = {};
    void* stream = nullptr;
};

// What barrier() and checkpoint(), which have no buffers, are called with.
struct plain_options {
    std::uint64_t iteration = 0;  // taken no notice of
    std::uint64_t user_data = 0;
};

// What push() is called with.
struct push_options {
    std::uint64_t iteration;  // the clock; must be given
    std::uint64_t first = 0;  // element of the model at which dense slices begin
    bool is_sparse =
        // the buffers are two: indices (std::uint32_t) that rise strictly, and values (float)
        false;
    std::uint64_t entries = 0;  // of a sparse update: how many of each count
    std::uint64_t user_data = 0;
    device where = {};
    void* stream = nullptr;
};

// What pull() is called with.
struct pull_options {
    std::uint64_t iteration;  // the clock; must be given
    std::uint64_t first = 0;  // element of the model at which the slices begin
    std::uint64_t user_data = 0;
    device where = {};
    void* stream = nullptr;
};

// What residual_save() and residual_load() are called with.
struct residual_options {
    std::uint64_t iteration = 0;  // taken no notice of
    std::uint64_t user_data = 0;
    device where = {};
    void* stream = nullptr;
};

}  // namespace pace
