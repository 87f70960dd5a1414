#include "daemon/clients/ring_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/simulation/simulated_process.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using protocol::CompletionEntry;
using protocol::MemberEntry;
using protocol::RingHeader;
using protocol::SubmissionEntry;

namespace {

uint32_t flags_of(const Ending& ending) {
    uint32_t flags = 0;
    if (ending.late) flags |= protocol::kCompletionLate;
    if (ending.resync) flags |= protocol::kCompletionResync;
    if (ending.dense) flags |= protocol::kCompletionDense;
    if (ending.on_device) flags |= protocol::kCompletionOnDevice;
    return flags;
}

// A message that is too long is cut.
void write_message(std::string_view message, CompletionEntry& slot) {
    const size_t length = std::min(message.size(), protocol::kCompletionMessageBytes);
    slot.message_bytes = static_cast<uint32_t>(length);
    if (length > 0) std::memcpy(slot.message, message.data(), length);
}

}  // namespace

Result<RingServer> RingServer::create(uint32_t version, uint32_t member_capacity,
                                      std::shared_ptr<const base::UniqueFd> connection) {
    RingServer ring;
    ring.layout_ = {protocol::kRingSlots, member_capacity};
    PACE_TRY_ASSIGN(memory, base::MappedMemfd::create("pace-rings", ring.layout_.bytes(), true));
    ring.memory_ = std::make_shared<base::MappedMemfd>(std::move(memory));
    ring.marks_ = WriteMarks(ring.memory_, ring.layout_, std::move(connection));
    ring.waits_ = WaitTexts(ring.memory_, ring.layout_);
    ring.submission_doorbell_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    ring.completion_doorbell_.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!ring.submission_doorbell_.valid() || !ring.completion_doorbell_.valid())
        return base::make_errno_error(errno, "create doorbells");
    auto* header = new (ring.memory_->data()) RingHeader{};
    header->magic = protocol::kRingMagic;
    header->version = version;
    header->ring_slots = ring.layout_.slots;
    header->member_capacity = member_capacity;
    header->completion.consumer_sleeps.value.store(1);
    return ring;
}

RingHeader& RingServer::header() const {
    return *reinterpret_cast<RingHeader*>(memory_->data());
}

SubmissionEntry& RingServer::submission(uint32_t index) const {
    auto* slots = reinterpret_cast<SubmissionEntry*>(memory_->data() + layout_.submissions());
    return slots[index & (layout_.slots - 1)];
}

CompletionEntry& RingServer::completion(uint32_t index) const {
    auto* slots = reinterpret_cast<CompletionEntry*>(memory_->data() + layout_.completions());
    return slots[index & (layout_.slots - 1)];
}

std::span<MemberEntry> RingServer::members(uint32_t index) const {
    auto* lists = reinterpret_cast<MemberEntry*>(memory_->data() + layout_.members());
    const size_t slot = index & (layout_.slots - 1);
    return {lists + slot * layout_.member_capacity, layout_.member_capacity};
}

Result<bool> RingServer::take(SubmissionEntry& ret_entry) {
    const uint32_t tail_untrusted = header().submission.tail.value.load(std::memory_order_acquire);
    const uint32_t waiting = tail_untrusted - submission_head_;
    if (waiting == 0) return false;
    if (waiting > layout_.slots)
        return base::make_error(ErrorKind::corrupt,
                                "the submission ring claims {} entries in {} slots", waiting,
                                layout_.slots);
    // Copies the fixed part first, then only as many slices as it names, so that a small request
    // stays cheap.
    const SubmissionEntry& slot_untrusted = submission(submission_head_);
    std::memcpy(&ret_entry, &slot_untrusted, offsetof(SubmissionEntry, slices));
    std::memcpy(ret_entry.slices, slot_untrusted.slices,
                protocol::slices_named(ret_entry) * sizeof(protocol::SubmittedSlice));
    ++submission_head_;
    header().submission.head.value.store(submission_head_, std::memory_order_release);
    base::pass("after a submission is taken");
    return true;
}

void RingServer::complete(uint64_t id, const Ending& ending) {
    CompletionEntry& slot = completion(completion_tail_);
    slot.id = id;
    slot.outcome = ending.outcome;
    slot.error_kind = static_cast<int32_t>(ending.kind);
    slot.iteration = ending.iteration;
    slot.group = ending.group;
    slot.bytes_sent = ending.bytes_sent;
    slot.bytes_received = ending.bytes_received;
    slot.queued_ns = ending.queued_ns;
    slot.moving_ns = ending.moving_ns;
    slot.initial_weight = ending.initial_weight;
    slot.nodes = ending.nodes;
    slot.divisor = ending.divisor;
    slot.rounds = ending.rounds;
    slot.entries = ending.entries;
    slot.contributors = ending.contributors;
    slot.slowest_clock = ending.slowest_clock;
    slot.flags = flags_of(ending);
    const size_t total = ending.members ? ending.members->size() : 0;
    const size_t listed = std::min<size_t>(total, layout_.member_capacity);
    slot.member_count = static_cast<uint32_t>(total);
    slot.members_listed = static_cast<uint32_t>(listed);
    if (listed > 0) std::copy_n(ending.members->begin(), listed, members(completion_tail_).begin());
    write_message(ending.message, slot);

    base::pass("before a completion");
    ++completion_tail_;
    auto& control = header().completion;
    control.tail.value.store(completion_tail_, std::memory_order_seq_cst);
    base::pass("in a completion");
    marks_.release(id);
    waits_.release(id);
    base::pass("after a completion");
    if (control.consumer_sleeps.value.load(std::memory_order_seq_cst) != 0) {
        const uint64_t one = 1;
        [[maybe_unused]] const ssize_t written =
            write(completion_doorbell_.get(), &one, sizeof(one));
    }
}

bool RingServer::arm() {
    armed_ = true;
    auto& control = header().submission;
    control.consumer_sleeps.value.store(1, std::memory_order_seq_cst);
    return control.tail.value.load(std::memory_order_seq_cst) == submission_head_;
}

void RingServer::disarm() {
    if (!armed_) return;
    armed_ = false;
    header().submission.consumer_sleeps.value.store(0, std::memory_order_relaxed);
}

void RingServer::drain_doorbell() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(submission_doorbell_.get(), &count, sizeof(count));
}

}  // namespace pace::daemon
