#include "daemon/recorder/recorder.h"

#include <algorithm>
#include <charconv>

namespace pace::daemon {

// NOLINTNEXTLINE(readability-function-size): a table of names
std::string_view name_of(RecordKind kind) {
    switch (kind) {
        case RecordKind::nothing:
            return "nothing";
        case RecordKind::call_begins:
            return "call-begins";
        case RecordKind::call_ends:
            return "call-ends";
        case RecordKind::exchange_begins:
            return "exchange-begins";
        case RecordKind::exchange_ends:
            return "exchange-ends";
        case RecordKind::exchange_waits:
            return "exchange-waits";
        case RecordKind::call_waits:
            return "call-waits";
        case RecordKind::group_ordered:
            return "group-ordered";
        case RecordKind::view_prepared:
            return "view-prepared";
        case RecordKind::view_committed:
            return "view-committed";
        case RecordKind::more_members:
            return "more-members";
        case RecordKind::message_in:
            return "message-in";
        case RecordKind::message_out:
            return "message-out";
        case RecordKind::attached:
            return "attached";
        case RecordKind::detached:
            return "detached";
        case RecordKind::excluded:
            return "excluded";
        case RecordKind::peer_lost:
            return "peer-lost";
        case RecordKind::peer_gone:
            return "peer-gone";
        case RecordKind::peer_silent:
            return "peer-silent";
        case RecordKind::peer_back:
            return "peer-back";
        case RecordKind::worker_joined:
            return "worker-joined";
        case RecordKind::worker_left:
            return "worker-left";
        case RecordKind::worker_lost:
            return "worker-lost";
        case RecordKind::worker_suspended:
            return "worker-suspended";
        case RecordKind::worker_stopped:
            return "worker-stopped";
        case RecordKind::worker_continues:
            return "worker-continues";
        case RecordKind::loop_stood_still:
            return "loop-stood-still";
    }
    return "nothing";
}

void Recorder::note(Record record, std::span<const uint32_t> members) {
    const uint64_t now = base::now_ns();
    record.members = static_cast<uint32_t>(members.size());
    members = members.first(std::min(members.size(), kMembersMax));
    do {
        const auto here = members.first(std::min(members.size(), Record::kMembers));
        record.members_here = static_cast<uint8_t>(here.size());
        std::copy(here.begin(), here.end(), record.first.begin());
        note(record, now);
        members = members.subspan(here.size());
        record.kind = RecordKind::more_members;
    } while (!members.empty());
}

Record exchange_record(RecordKind kind, uint32_t job, std::string_view words) {
    Record record{.kind = kind, .job = job};
    if (words.starts_with("round ")) record.detail = static_cast<uint8_t>(ExchangeWord::round);
    if (words.starts_with("group ")) record.detail = static_cast<uint8_t>(ExchangeWord::group);
    const size_t space = words.rfind(' ');
    const std::string_view digits = space == std::string_view::npos ? "" : words.substr(space + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), record.number);
    return record;
}

}  // namespace pace::daemon
