#include "libclient/ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/types.h"
#include "protocol/version.h"

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;
using base::UniqueFd;
using protocol::CompletionEntry;
using protocol::MemberEntry;
using protocol::Outcome;
using protocol::SubmissionEntry;

namespace {

bool is_valid(Outcome outcome) {
    switch (outcome) {
        case Outcome::done:
        case Outcome::aborted:
        case Outcome::canceled:
        case Outcome::stale:
        case Outcome::failed:
            return true;
    }
    return false;
}

// A bell must never block the trainer: neither a full counter nor an empty one.
Result<> set_nonblocking(const UniqueFd& bell) {
    const int flags = fcntl(bell.get(), F_GETFL);
    if (flags < 0 || fcntl(bell.get(), F_SETFL, flags | O_NONBLOCK) != 0)
        return base::make_errno_error(errno, "take the daemon's doorbell");
    return {};
}

}  // namespace

Result<ClientRing> ClientRing::adopt(UniqueFd memory, UniqueFd submission_bell,
                                     UniqueFd completion_bell, uint32_t ring_slots,
                                     uint32_t member_capacity) {
    if (!std::has_single_bit(ring_slots) || ring_slots > kRingSlotsMax)
        return make_error(ErrorKind::corrupt, "the daemon's ring has {} slots", ring_slots);
    if (member_capacity > protocol::kWorldMax)
        return make_error(ErrorKind::corrupt, "the daemon's ring lists {} members",
                          member_capacity);
    ClientRing ring;
    ring.layout_ = {ring_slots, member_capacity};
    PACE_TRY_ASSIGN(mapped, base::MappedMemfd::adopt(std::move(memory), ring.layout_.bytes()));
    ring.memory_ = std::move(mapped);
    PACE_TRY(ring.check_header());
    PACE_TRY(set_nonblocking(submission_bell));
    PACE_TRY(set_nonblocking(completion_bell));
    ring.submission_bell_ = std::move(submission_bell);
    ring.completion_bell_ = std::move(completion_bell);
    ring.completion_head_ = std::make_unique<std::atomic<uint32_t>>(0);
    return ring;
}

protocol::RingHeader& ClientRing::header() const {
    return *reinterpret_cast<protocol::RingHeader*>(memory_.data());
}

Result<> ClientRing::check_header() const {
    const protocol::RingHeader& theirs = header();
    if (theirs.magic != protocol::kRingMagic || theirs.version != protocol::kVersion ||
        theirs.ring_slots != layout_.slots || theirs.member_capacity != layout_.member_capacity)
        return make_error(ErrorKind::corrupt,
                          "the header of the daemon's ring contradicts its message");
    if (theirs.submission.tail.value.load() != 0 || theirs.completion.tail.value.load() != 0)
        return make_error(ErrorKind::corrupt, "the daemon's ring is not new");
    return {};
}

Result<SubmissionEntry*> ClientRing::next_submission() {
    const uint32_t taken = header().submission.head.value.load(std::memory_order_acquire);
    if (submission_tail_ - taken >= layout_.slots && noted_)
        return make_error(ErrorKind::limit,
                          "the daemon has not taken the last {} calls and announcements yet; wait "
                          "for a request first",
                          layout_.slots);
    if (submission_tail_ - taken >= layout_.slots)
        return make_error(ErrorKind::corrupt,
                          "the daemon has told the end of requests that it never took");
    const uint32_t slot = submission_tail_ & (layout_.slots - 1);
    auto* entry = reinterpret_cast<SubmissionEntry*>(memory_.data() + layout_.submissions() +
                                                     slot * sizeof(SubmissionEntry));
    *entry = SubmissionEntry{};
    return entry;
}

void ClientRing::submit() {
    protocol::RingControl& submission = header().submission;
    submission.tail.value.store(++submission_tail_, std::memory_order_seq_cst);
    if (submission.consumer_sleeps.value.load(std::memory_order_seq_cst) == 0) return;
    // The bell's only failure is a full counter: then it rings already.
    const uint64_t one = 1;
    (void)!write(submission_bell_.get(), &one, sizeof(one));
}

Result<> ClientRing::note(protocol::Verb verb, uint64_t iteration, uint64_t id) {
    noted_ = true;
    PACE_TRY_ASSIGN(entry, next_submission());
    entry->verb = verb;
    entry->iteration = iteration;
    entry->id = id;
    submit();
    return {};
}

bool ClientRing::has_completions() const {
    return header().completion.tail.value.load(std::memory_order_seq_cst) !=
           completion_head_->load(std::memory_order_relaxed);
}

Result<bool> ClientRing::take_completion(Completion* ret_completion) {
    const uint32_t head = completion_head_->load(std::memory_order_relaxed);
    const uint32_t tail = header().completion.tail.value.load(std::memory_order_acquire);
    if (head == tail) return false;
    if (tail - head > layout_.slots)
        return make_error(ErrorKind::corrupt,
                          "the daemon's completion ring claims {} entries of {}", tail - head,
                          layout_.slots);

    const uint32_t slot = head & (layout_.slots - 1);
    std::memcpy(static_cast<void*>(&ret_completion->entry),
                memory_.data() + layout_.completions() + slot * sizeof(CompletionEntry),
                sizeof(CompletionEntry));
    const CompletionEntry& entry = ret_completion->entry;
    PACE_TRY(check(entry));

    ret_completion->members.resize(entry.members_listed);
    const size_t list = size_t{slot} * layout_.member_capacity * sizeof(MemberEntry);
    if (entry.members_listed != 0)
        std::memcpy(ret_completion->members.data(), memory_.data() + layout_.members() + list,
                    entry.members_listed * sizeof(MemberEntry));
    completion_head_->store(head + 1, std::memory_order_relaxed);
    header().completion.head.value.store(head + 1, std::memory_order_release);
    return true;
}

Result<> ClientRing::check(const CompletionEntry& entry) const {
    if (!is_valid(entry.outcome))
        return make_error(ErrorKind::corrupt, "a completion from the daemon has outcome {}",
                          static_cast<int32_t>(entry.outcome));
    if (entry.message_bytes > protocol::kCompletionMessageBytes)
        return make_error(ErrorKind::corrupt,
                          "a completion from the daemon has a message of {} bytes",
                          entry.message_bytes);
    if (entry.members_listed > layout_.member_capacity || entry.members_listed > entry.member_count)
        return make_error(ErrorKind::corrupt,
                          "a completion from the daemon lists {} members of {}, with room for {}",
                          entry.members_listed, entry.member_count, layout_.member_capacity);
    return {};
}

protocol::WriteState ClientRing::written(uint64_t request) const {
    using protocol::WriteState;
    const auto* marks =
        reinterpret_cast<const protocol::WriteMark*>(memory_.data() + layout_.marks());
    const auto* const end = marks + layout_.slots;
    const auto* const mark = std::find_if(marks, end, [request](const protocol::WriteMark& other) {
        return other.request.load(std::memory_order_acquire) == request;
    });
    if (mark == end) return WriteState::untouched;
    const uint32_t state = mark->state.load(std::memory_order_acquire);
    return state > static_cast<uint32_t>(WriteState::whole) ? WriteState::writing
                                                            : static_cast<WriteState>(state);
}

std::string ClientRing::awaited(uint64_t request) const {
    constexpr int kLooks = 4;  // it changes about once a second
    using protocol::WaitText;
    const auto* texts = reinterpret_cast<const WaitText*>(memory_.data() + layout_.waits());
    const auto* const end = texts + layout_.slots;
    const auto* const text = std::find_if(
        texts, end, [request](const WaitText& other) { return other.request.load() == request; });
    if (text == end) return {};
    for (int look = 0; look < kLooks; ++look) {
        const uint32_t before = text->changes.load();
        std::array<uint64_t, protocol::kWaitTextWords> words{};
        for (size_t i = 0; i < words.size(); ++i) words[i] = text->words[i].load();
        const size_t bytes = std::min<size_t>(text->bytes.load(), protocol::kWaitTextBytes);
        const bool is_this = text->request.load() == request;
        if (before % 2 != 0 || text->changes.load() != before) continue;
        if (!is_this) return {};
        std::string told(bytes, '\0');
        std::memcpy(told.data(), words.data(), bytes);
        return told;
    }
    return {};
}

void ClientRing::set_sleeping(bool sleeping) {
    header().completion.consumer_sleeps.value.store(sleeping ? 1 : 0, std::memory_order_seq_cst);
}

void ClientRing::clear_bell() {
    uint64_t count = 0;
    (void)!read(completion_bell_.get(), &count, sizeof(count));
}

}  // namespace pace::client
