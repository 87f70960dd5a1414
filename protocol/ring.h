// The rings: how a trainer hands requests to its daemon, and gets their ends back, without a system
// call while both are awake.
//
// One sealed memfd holds, in this order, each entry at a distance that the daemon tells (RingStrides),
//
//     RingHeader | submission slots | completion slots | write marks  | wait texts   | member lists (member_capacity each)
//                     [ring_slots]       [ring_slots]     [ring_slots]   [ring_slots]   [ring_slots]
//
// Each ring has one producer and one consumer, in different processes. `tail` counts what was
// produced, `head` what was consumed; both only grow, modulo 2^32, and slot i is at i & (ring_slots
// - 1). ring_slots is a power of two.
//
//     producer: write slot[tail]; tail.store(tail + 1, seq_cst); if (consumer_sleeps.load(seq_cst)) ring its eventfd
//     consumer: while (head != tail.load(acquire)) { copy slot[head]; head.store(head + 1, release) }
//     consumer before sleeping: consumer_sleeps.store(1, seq_cst); look at tail (seq_cst) once more; sleep on the eventfd
//
// Sequential consistency makes it impossible that the producer misses the flag while the consumer misses the entry
// (Dekker's argument). Atomics rather than fences, so that the thread sanitizer can follow.
//
// A write mark says of a request in flight what its buffers hold, for a trainer whose daemon has died
// before it could tell the request's end. The daemon writes marks and never reads them; which is whose,
// it keeps in private memory.
//
// A wait text says of a request that has lasted for long what it waits for. The daemon changes it now and then, at most about once a
// second; whoever reads it looks at `changes` before and after, and believes nothing of it.
//
// Trust. The daemon never believes this memory: it copies a submission once, then checks the copy,
// never reading the slot again. A tail that runs ahead of head by more than ring_slots, or an entry
// that does not parse, ends the session. The daemon keeps its own head and tail in private memory
// and only publishes them here. A client has at most ring_slots requests in flight, so the
// completion ring cannot overflow.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "protocol/types.h"

namespace pace::protocol {

inline constexpr uint32_t kRingMagic = 0x50414345;  // "PACE"
inline constexpr uint32_t kRingSlots = 64;
inline constexpr uint32_t kCacheLine = 64;

struct alignas(kCacheLine) RingIndex {
    std::atomic<uint32_t> value;
};

struct RingControl {
    RingIndex head;             // written by the consumer
    RingIndex tail;             // written by the producer
    RingIndex consumer_sleeps;  // written by the consumer
};

struct alignas(kCacheLine) RingHeader {
    uint32_t magic;
    uint32_t version;
    uint32_t ring_slots;
    uint32_t member_capacity;
    RingControl submission;  // produced by the client
    RingControl completion;  // produced by the daemon
};

// Elements [first, first + count) of a buffer, by its handle as BufferCreated gave it. `count` is at least 1.
struct SubmittedSlice {
    uint32_t buffer;
    uint32_t generation;
    uint64_t first;
    uint64_t count;
};

struct alignas(kCacheLine) SubmissionEntry {
    uint64_t
        id;  // the client's, unique in the session, never 0; ready: of the request that it is about
    uint64_t
        iteration;  // average: the worker's iteration; ready: elements; push, pull: the clock; else free,
                    // reported back
    Verb verb;
    ReduceOp op;
    uint16_t slice_count;
    uint32_t root;  // broadcast
    Order order;    // average
    uint8_t
        keeps_local;  // average: 1 if the buffers are copies of those that the trainer goes on with
    uint8_t sparse;   // push: 1 if the buffers are indices and values
    uint8_t
        out_of_place;  // average, reduce, sync: 1 if as many slices follow, where the result goes
    uint32_t
        event;  // buffers on a GPU: 1 + the slot of the client's event that is recorded behind what
                // makes their contents; 0: they are made
    uint64_t first;    // push, pull: element of the model at which the buffers begin
    uint64_t entries;  // push of indices and values: how many
    uint32_t
        ends_on_host;  // buffers on a GPU: 1 if it is to end when the result is there, 0 if it may when that is queued
    uint32_t padding;
    SubmittedSlice slices[2 * kBuffersPerExchangeMax];
};

// How many of its slices there are, whatever it says.
constexpr size_t slices_named(const SubmissionEntry& entry) {
    const size_t lists = entry.out_of_place == 0 ? 1 : 2;
    return lists * std::min<size_t>(entry.slice_count, kBuffersPerExchangeMax);
}

// How a request ended. The numbers are those of pace.h.
enum class Outcome : int32_t { done = 0, aborted = 2, canceled = 3, stale = 4, failed = -1 };

inline constexpr size_t kCompletionMessageBytes = 248;

// What else there is to say of a reduce; pace_request_info has a field for each.
enum CompletionFlag : uint32_t {
    kCompletionLate = 1U << 0U,    // this worker's gradient came after its round had begun
    kCompletionResync = 1U << 1U,  // all workers are to call sync now
    kCompletionDense = 1U << 2U,   // compression was asked for, but dense was faster
    kCompletionOnDevice =
        1U << 3U,  // the result is there once the daemon's event of the slot has come
};

struct alignas(kCacheLine) CompletionEntry {
    uint64_t id;
    Outcome outcome;
    int32_t error_kind;  // base::ErrorKind when failed
    uint64_t iteration;  // the worker's new iteration
    uint64_t group;      // group id, or round number
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t queued_ns;  // from submission to the start of the exchange
    uint64_t moving_ns;  // from there to the result
    double initial_weight;
    uint32_t member_count;    // members of the exchange
    uint32_t members_listed;  // of which the slot's member list holds this many
    uint32_t nodes;           // nodes of the exchange
    uint32_t message_bytes;
    char message[kCompletionMessageBytes];  // when not done: what happened, what to do
    double divisor;                         // of a sum; 0: nothing was summed
    uint64_t rounds;                        // whose results the buffers hold, summed in order
    uint64_t entries;                       // elements of the result that top-k chose; 0: dense
    uint32_t contributors;                  // members whose gradients are in the result
    uint32_t flags;                         // of CompletionFlag
    uint64_t slowest_clock;                 // push, pull: the slowest worker's
};

struct MemberEntry {
    uint32_t rank;
    uint32_t reserved;
    uint64_t staleness;  // iterations behind the newest member
    double weight;
};

enum class WriteState : uint32_t {
    untouched = 0,  // what the trainer has left there
    writing = 1,    // part of the result, perhaps
    whole = 2,      // the result
};

struct WriteMark {
    std::atomic<uint64_t> request;  // 0: none
    std::atomic<uint32_t> state;    // of WriteState
    uint32_t padding;
};

inline constexpr size_t kWaitTextWords = 30;
inline constexpr size_t kWaitTextBytes = kWaitTextWords * sizeof(uint64_t);

struct WaitText {
    std::atomic<uint64_t> request;  // 0: none
    std::atomic<uint32_t> changes;  // odd: it is being changed
    std::atomic<uint32_t> bytes;
    std::atomic<uint64_t> words[kWaitTextWords];  // of eight bytes of the text each
};

static_assert(sizeof(RingControl) == 192);
static_assert(sizeof(RingHeader) == 448);
static_assert(sizeof(SubmittedSlice) == 24);
static_assert(sizeof(SubmissionEntry) == 12352);
static_assert(sizeof(CompletionEntry) == 384);
static_assert(sizeof(WriteMark) == 16);
static_assert(sizeof(WaitText) == 256);
static_assert(sizeof(MemberEntry) == 24);
static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// How far apart the entries of each part lie, as the daemon made them (Joined tells). A release appends fields to entries and changes none:
// whoever knows a longer entry takes what is not there for zero, and whoever knows a shorter one leaves the rest alone.
struct RingStrides {
    uint32_t header = sizeof(RingHeader);
    uint32_t submission = sizeof(SubmissionEntry);
    uint32_t completion = sizeof(CompletionEntry);
    uint32_t mark = sizeof(WriteMark);
    uint32_t wait = sizeof(WaitText);
    uint32_t member = sizeof(MemberEntry);
};

// Those of version 8, the first that tolerates others: no daemon has less. From its release on they stay as they are.
inline constexpr RingStrides kRingStridesLeast{448, 12352, 384, 16, 256, 24};
inline constexpr uint32_t kRingStrideMax = 65536;

// Whether a daemon can have made them.
constexpr bool are_possible(const RingStrides& strides) {
    constexpr auto fits = [](uint32_t stride, uint32_t least, uint32_t alignment) {
        return stride >= least && stride <= kRingStrideMax && stride % alignment == 0;
    };
    constexpr RingStrides least = kRingStridesLeast;
    return fits(strides.header, least.header, alignof(RingHeader)) &&
           fits(strides.submission, least.submission, alignof(SubmissionEntry)) &&
           fits(strides.completion, least.completion, alignof(CompletionEntry)) &&
           fits(strides.mark, least.mark, alignof(WriteMark)) &&
           fits(strides.wait, least.wait, alignof(WaitText)) &&
           fits(strides.member, least.member, alignof(MemberEntry));
}
static_assert(are_possible(RingStrides{}));

// Where the parts lie in the memfd, for given sizes.
struct RingLayout {
    uint32_t slots = 0;
    uint32_t member_capacity = 0;
    RingStrides strides = {};

    constexpr size_t submissions() const { return strides.header; }
    constexpr size_t completions() const { return submissions() + part(strides.submission); }
    constexpr size_t marks() const { return completions() + part(strides.completion); }
    constexpr size_t waits() const { return marks() + part(strides.mark); }
    constexpr size_t members() const { return waits() + part(strides.wait); }
    constexpr size_t bytes() const { return members() + part(strides.member) * member_capacity; }

  private:
    constexpr size_t part(uint32_t stride) const { return size_t{slots} * stride; }
};

}  // namespace pace::protocol
