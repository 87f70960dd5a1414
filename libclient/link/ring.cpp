#include "libclient/link/ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/simulation/simulated_process.h"
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

// A bell must never block the trainer, whether its counter is full or empty.
Result<> set_nonblocking(const UniqueFd& bell) {
    const int flags = fcntl(bell.get(), F_GETFL);
    if (flags < 0 || fcntl(bell.get(), F_SETFL, flags | O_NONBLOCK) != 0)
        return base::make_errno_error(errno, "take the daemon's doorbell");
    return {};
}

}  // namespace

Result<ClientRing> ClientRing::adopt(UniqueFd memory, UniqueFd submission_bell,
                                     UniqueFd completion_bell, const protocol::RingLayout& told,
                                     uint32_t version) {
    if (!std::has_single_bit(told.slots) || told.slots > kRingSlotsMax)
        return make_error(ErrorKind::corrupt, "the daemon's ring has {} slots", told.slots);
    if (told.member_capacity > protocol::kWorldMax)
        return make_error(ErrorKind::corrupt, "the daemon's ring lists {} members",
                          told.member_capacity);
    if (!protocol::are_possible(told.strides))
        return make_error(ErrorKind::corrupt,
                          "the daemon's ring has entries of {}, {}, {}, {}, {} and {} bytes",
                          told.strides.header, told.strides.submission, told.strides.completion,
                          told.strides.mark, told.strides.wait, told.strides.member);
    ClientRing ring;
    ring.layout_ = told;
    ring.next_ = std::make_unique<SubmissionEntry>();
    PACE_TRY_ASSIGN(mapped, base::MappedMemfd::adopt(std::move(memory), ring.layout_.bytes()));
    ring.memory_ = std::move(mapped);
    PACE_TRY(ring.check_header(version));
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

// Returns the entry with this index in the part of the ring that begins at offset `part`.
std::byte* ClientRing::slot(size_t part, uint32_t stride, uint32_t index) const {
    return memory_.data() + part + size_t{stride} * (index & (layout_.slots - 1));
}

Result<> ClientRing::check_header(uint32_t version) const {
    const protocol::RingHeader& theirs = header();
    if (theirs.magic != protocol::kRingMagic || theirs.version != version ||
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
    std::memset(static_cast<void*>(next_.get()), 0, offsetof(SubmissionEntry, slices));
    return next_.get();
}

void ClientRing::submit() {
    base::pass("before a submission");
    const uint32_t stride = layout_.strides.submission;
    std::byte* const place = slot(layout_.submissions(), stride, submission_tail_);
    const size_t named = protocol::slices_named(*next_) * sizeof(protocol::SubmittedSlice);
    std::memcpy(place, next_.get(), offsetof(SubmissionEntry, slices) + named);
    // The fields that only a newer daemon knows are zero.
    if (stride > sizeof(SubmissionEntry))
        std::memset(place + sizeof(SubmissionEntry), 0, stride - sizeof(SubmissionEntry));
    base::pass("in a submission");
    protocol::RingControl& submission = header().submission;
    submission.tail.value.store(++submission_tail_, std::memory_order_seq_cst);
    base::pass("after a submission");
    if (submission.consumer_sleeps.value.load(std::memory_order_seq_cst) == 0) return;
    // The write to the bell fails only if the counter is full. The bell then rings already.
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

    const protocol::RingStrides& strides = layout_.strides;
    // The fields that only a newer library knows are zero.
    ret_completion->entry = CompletionEntry{};
    std::memcpy(static_cast<void*>(&ret_completion->entry),
                slot(layout_.completions(), strides.completion, head),
                std::min<size_t>(strides.completion, sizeof(CompletionEntry)));
    const CompletionEntry& entry = ret_completion->entry;
    PACE_TRY(check(entry));

    ret_completion->members.resize(entry.members_listed);
    const std::byte* list = slot(layout_.members(), strides.member * layout_.member_capacity, head);
    for (MemberEntry& member : ret_completion->members) {
        std::memcpy(static_cast<void*>(&member), list,
                    std::min<size_t>(strides.member, sizeof(MemberEntry)));
        list += strides.member;
    }
    base::pass("before a completion is taken");
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
    const auto mark_at = [this](uint32_t index) {
        return reinterpret_cast<const protocol::WriteMark*>(
            slot(layout_.marks(), layout_.strides.mark, index));
    };
    uint32_t index = 0;
    while (index < layout_.slots &&
           mark_at(index)->request.load(std::memory_order_acquire) != request)
        ++index;
    if (index == layout_.slots) return WriteState::untouched;
    const protocol::WriteMark* const mark = mark_at(index);
    const uint32_t state = mark->state.load(std::memory_order_acquire);
    return state > static_cast<uint32_t>(WriteState::whole) ? WriteState::writing
                                                            : static_cast<WriteState>(state);
}

std::string ClientRing::awaited(uint64_t request) const {
    constexpr int kLooks = 4;  // the text changes about once a second
    using protocol::WaitText;
    const auto text_at = [this](uint32_t index) {
        return reinterpret_cast<const WaitText*>(
            slot(layout_.waits(), layout_.strides.wait, index));
    };
    uint32_t index = 0;
    while (index < layout_.slots && text_at(index)->request.load() != request) ++index;
    if (index == layout_.slots) return {};
    const WaitText* const text = text_at(index);
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
