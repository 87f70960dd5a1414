// The rings: a trainer hands requests to its daemon through them and gets completions back. No
// system call is needed while both are awake.
//
// One sealed memfd holds the parts in this order. The daemon tells the distance of the entries of
// each part (RingStrides):
//
//     RingHeader
//     submission slots, completion slots, write marks, wait texts   ring_slots of each
//     member lists                                ring_slots lists of member_capacity each
//
// Each ring has one producer and one consumer, in different processes. `tail` counts the produced
// entries, `head` the consumed ones. Both only grow, modulo 2^32. Entry i is in the slot i &
// (ring_slots - 1). ring_slots is a power of two.
//
//     producer:  write slot[tail]; tail.store(tail + 1, seq_cst);
//                if (consumer_sleeps.load(seq_cst)) ring its eventfd
//     consumer:  while (head != tail.load(acquire)) {
//                    copy slot[head]; head.store(head + 1, release)
//                }
//                before sleeping: consumer_sleeps.store(1, seq_cst);
//                look at tail (seq_cst) once more; sleep on the eventfd
//
// With sequential consistency the producer cannot miss the flag while the consumer misses the entry
// (Dekker's argument). The rings use atomics instead of fences, so that the thread sanitizer can
// follow.
//
// A write mark says what the buffers of a request in flight hold. It is for a trainer whose daemon
// has died before the daemon could tell the request's end. The daemon writes marks and never reads
// them. It keeps in private memory which request owns which mark.
//
// A wait text says what a request waits for that has lasted for long. The daemon changes the text
// now and then, at most about once a second. A reader compares `changes` before and after it reads.
// A reader must not trust the text.
//
// Trust. The daemon never trusts this memory. It copies a submission once and then checks the copy,
// and never reads the slot again. The session ends if a tail runs ahead of its head by more than
// ring_slots, or if an entry does not parse. The daemon keeps its own head and tail in private
// memory and only publishes them here. A client has at most ring_slots requests in flight, so the
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

// The elements [first, first + count) of a buffer. `buffer` and `generation` are those of
// BufferCreated. `count` is at least 1.
struct SubmittedSlice {
    uint32_t buffer;
    uint32_t generation;
    uint64_t first;
    uint64_t count;
};

struct alignas(kCacheLine) SubmissionEntry {
    // The client's number for the request: unique in the session, never 0. For ready: the number of
    // the request that the note is about.
    uint64_t id;
    // average: the worker's iteration. ready: the number of elements. push, pull: the clock. For
    // other verbs the client may use this field freely; the completion reports it back.
    uint64_t iteration;
    Verb verb;
    ReduceOp op;
    uint16_t slice_count;
    uint32_t root;  // broadcast
    Order order;    // average
    // average: 1 if the buffers are copies of the buffers with which the trainer goes on.
    uint8_t keeps_local;
    uint8_t sparse;  // push: 1 if the buffers are indices and values
    // average, reduce, sync: 1 if as many slices follow, to which the result goes.
    uint8_t out_of_place;
    // Buffers on a GPU: 1 + the slot of the client's word or event (DeviceShare), by which the
    // client's stream tells behind the work that makes the buffers' contents. 0 means that the
    // contents are complete.
    uint32_t event;
    uint64_t first;    // push, pull: the element of the model at which the buffers begin
    uint64_t entries;  // push of indices and values: their number
    // Buffers on a GPU: 1 if the request is to end when the result is there. 0 if the request may
    // end when the work for the result is queued.
    uint32_t ends_on_host;
    uint32_t padding;
    SubmittedSlice slices[2 * kBuffersPerExchangeMax];
};

// Returns the number of slices in the entry. The result never exceeds the array, whatever the entry
// says.
constexpr size_t slices_named(const SubmissionEntry& entry) {
    const size_t lists = entry.out_of_place == 0 ? 1 : 2;
    return lists * std::min<size_t>(entry.slice_count, kBuffersPerExchangeMax);
}

// How a request ended. The numbers are those of pace.h.
enum class Outcome : int32_t { done = 0, aborted = 2, canceled = 3, stale = 4, failed = -1 };

inline constexpr size_t kCompletionMessageBytes = 248;

// Further results of a reduce. pace_request_info has a field for each flag.
enum CompletionFlag : uint32_t {
    // This worker's gradient arrived after its round had begun.
    kCompletionLate = 1U << 0U,
    // All workers are to call sync now.
    kCompletionResync = 1U << 1U,
    // Compression was asked for, but a dense exchange was faster.
    kCompletionDense = 1U << 2U,
    // The result is there once the daemon's stream has told so, by the slot's word or event.
    kCompletionOnDevice = 1U << 3U,
};

struct alignas(kCacheLine) CompletionEntry {
    uint64_t id;
    Outcome outcome;
    int32_t error_kind;  // a base::ErrorKind when failed
    uint64_t iteration;  // the worker's new iteration
    uint64_t group;      // group id, or round number
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t queued_ns;  // from submission to the start of the exchange
    uint64_t moving_ns;  // from the start of the exchange to the result
    double initial_weight;
    uint32_t member_count;    // members of the exchange
    uint32_t members_listed;  // how many of them the slot's member list holds
    uint32_t nodes;           // nodes of the exchange
    uint32_t message_bytes;
    char message[kCompletionMessageBytes];  // when not done: what happened and what to do
    double divisor;                         // the divisor of a sum; 0: nothing was summed
    // The number of rounds whose results the buffers hold, summed in order.
    uint64_t rounds;
    uint64_t entries;        // elements of the result that top-k chose; 0: dense
    uint32_t contributors;   // members whose gradients are in the result
    uint32_t flags;          // bits of CompletionFlag
    uint64_t slowest_clock;  // push, pull: the slowest worker's clock
};

struct MemberEntry {
    uint32_t rank;
    uint32_t reserved;
    uint64_t staleness;  // iterations behind the newest member
    double weight;
};

enum class WriteState : uint32_t {
    untouched = 0,  // the contents that the trainer left there
    writing = 1,    // perhaps a part of the result
    whole = 2,      // the result
};

struct WriteMark {
    std::atomic<uint64_t> request;  // 0: none
    std::atomic<uint32_t> state;    // a WriteState
    uint32_t padding;
};

inline constexpr size_t kWaitTextWords = 30;
inline constexpr size_t kWaitTextBytes = kWaitTextWords * sizeof(uint64_t);

struct WaitText {
    std::atomic<uint64_t> request;  // 0: none
    std::atomic<uint32_t> changes;  // odd: the text is being changed
    std::atomic<uint32_t> bytes;
    std::atomic<uint64_t> words[kWaitTextWords];  // eight bytes of the text each
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

// The distances between the entries of each part, as the daemon made the parts. Joined tells them.
// A release may append fields to entries, but it changes no field. A reader that knows a longer
// entry takes the missing fields as zero. A reader that knows a shorter entry ignores the rest.
struct RingStrides {
    uint32_t header = sizeof(RingHeader);
    uint32_t submission = sizeof(SubmissionEntry);
    uint32_t completion = sizeof(CompletionEntry);
    uint32_t mark = sizeof(WriteMark);
    uint32_t wait = sizeof(WaitText);
    uint32_t member = sizeof(MemberEntry);
};

// The strides of version 8. Version 8 is the first version that tolerates other strides, and no
// daemon has smaller ones. These numbers stay as they are from the release of version 8 on.
inline constexpr RingStrides kRingStridesLeast{448, 12352, 384, 16, 256, 24};
inline constexpr uint32_t kRingStrideMax = 65536;

// Whether a daemon can have made these strides.
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

// The positions of the parts in the memfd, for given sizes.
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
