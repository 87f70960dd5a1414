#include "libclient/requests/request.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pace::client {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr unsigned kSlotBits = 16;
constexpr uint64_t kSlotMask = (uint64_t{1} << kSlotBits) - 1;
static_assert(kRingSlotsMax <= kSlotMask);

}  // namespace

void RequestTable::set_limit(uint32_t slots) {
    limit_ = slots;
    // The table never shrinks: ended requests of an earlier connection may wait in the upper slots.
    if (slots_.size() < slots) slots_.resize(slots);
}

Result<Request*> RequestTable::begin() {
    const auto is_vacant = [](const Request& request) { return request.id == 0; };
    const auto last = slots_.begin() + static_cast<ptrdiff_t>(std::min(next_slot_, slots_.size()));
    auto vacant = std::find_if(last, slots_.end(), is_vacant);
    if (vacant == slots_.end()) vacant = std::find_if(slots_.begin(), slots_.end(), is_vacant);
    if (in_flight_ >= limit_ || vacant == slots_.end())
        return make_error(ErrorKind::limit,
                          "{} requests are in flight and {} have ended but are not collected, of "
                          "{} at most; collect some with pace_request_wait",
                          in_flight_, ended_, limit_);
    const auto slot = static_cast<uint64_t>(vacant - slots_.begin());
    if (in_turn_) next_slot_ = slot + 1;
    vacant->id = next_number_++ << kSlotBits | slot;
    vacant->ended = false;
    vacant->contents = protocol::WriteState::untouched;
    vacant->keeps_local = false;
    vacant->stages = false;
    vacant->adding = false;
    vacant->added = 0;
    vacant->elements = 0;
    vacant->ready = 0;
    vacant->parts.clear();
    vacant->given = 0;
    vacant->user_data = 0;
    vacant->gpu_order.reset();
    vacant->gpu.reset();
    ++in_flight_;
    return &*vacant;
}

void RequestTable::abandon(Request& request) {
    request.id = 0;
    --in_flight_;
}

Result<Request*> RequestTable::find(RequestHandle handle) {
    if (handle.session == 0 && handle.id == 0)
        return make_error(ErrorKind::handle, "the request handle is null; a verb gives one");
    if (handle.session != stamp_)
        return make_error(ErrorKind::handle,
                          "request {:#x} is of another session; use it with the one that made it",
                          handle.id);
    const uint64_t slot = handle.id & kSlotMask;
    if (handle.id >> kSlotBits == 0 || handle.id >> kSlotBits >= next_number_ ||
        slot >= slots_.size())
        return make_error(ErrorKind::handle, "request {:#x} was never made by this session",
                          handle.id);
    if (slots_[slot].id != handle.id)
        return make_error(ErrorKind::handle, "request {:#x} has been collected already", handle.id);
    return &slots_[slot];
}

Result<Request*> RequestTable::ended(std::span<const RequestHandle> wanted) {
    Request* first = nullptr;
    const auto look = [&first](Request& request) {
        const auto order = [](const Request& of) { return std::pair(of.adding, of.ended_as); };
        if (request.id == 0 || !request.ended) return;
        if (first == nullptr || order(request) < order(*first)) first = &request;
    };
    for (const RequestHandle& handle : wanted) {
        PACE_TRY_ASSIGN(request, find(handle));
        look(*request);
    }
    if (!wanted.empty()) return first;
    if (in_flight_ + ended_ == 0)
        return make_error(ErrorKind::not_found,
                          "the session has no request that could end; a verb gives one");
    for (Request& request : slots_) look(request);
    return first;
}

Request* RequestTable::in_flight(uint64_t id) {
    const uint64_t slot = id & kSlotMask;
    if (id == 0 || slot >= slots_.size()) return nullptr;
    Request& request = slots_[slot];
    return request.id == id && !request.ended ? &request : nullptr;
}

void RequestTable::end(Request& request) {
    request.ended = true;
    request.ended_as = ++endings_;
    --in_flight_;
    ++ended_;
}

void RequestTable::collect(Request& request) {
    request.id = 0;
    --ended_;
}

void fill_failed(Completion& end, const base::Error& error) {
    const std::string_view message = error.message;
    const uint64_t id = end.entry.id;
    end.entry = protocol::CompletionEntry{};
    end.entry.id = id;
    end.entry.outcome = protocol::Outcome::failed;
    end.entry.error_kind = static_cast<int32_t>(error.kind);
    end.entry.message_bytes =
        static_cast<uint32_t>(std::min(message.size(), protocol::kCompletionMessageBytes));
    std::memcpy(end.entry.message, message.data(), end.entry.message_bytes);
    end.members.clear();
}

void fill_gone(Completion& end, std::string_view message) {
    fill_failed(end, base::Error{ErrorKind::unavailable, std::string(message)});
}

namespace {

std::string_view contents_text(protocol::WriteState contents) {
    switch (contents) {
        case protocol::WriteState::untouched:
            break;
        case protocol::WriteState::writing:
            return "hold part of the result: make their contents anew";
        case protocol::WriteState::whole:
            return "hold the whole result";
    }
    return "are as they were";
}

// The text for results that go elsewhere. Such a call can be made again in any case.
std::string_view results_text(protocol::WriteState contents) {
    return contents == protocol::WriteState::writing
               ? "hold part of the result: call again, what was given is as it was"
               : contents_text(contents);
}

}  // namespace

std::string gone_text(const Request& request, std::string_view reason) {
    const bool is_apart = request.is_out_of_place();
    // The reason comes last, because a completion's message has room for some 250 bytes.
    return fmt::format(
        "the daemon is gone; the next verb or buffer call reconnects, and the {} {} ({})",
        is_apart ? "results" : "buffers",
        is_apart ? results_text(request.contents) : contents_text(request.contents), reason);
}

}  // namespace pace::client
