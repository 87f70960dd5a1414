#include "daemon/telemetry/recording.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocol/control_codec.h"
#include "protocol/ring.h"
#include "protocol/types.h"

namespace pace::daemon {

using nlohmann::json;

namespace {

constexpr const char* kColumns =
    R"(["at_ns","kind","job","rank","node","number","amount","detail","failure","members","of"])";

std::string_view name_of_outcome(uint8_t outcome) {
    switch (static_cast<protocol::Outcome>(static_cast<int8_t>(outcome))) {
        case protocol::Outcome::done:
            return "done";
        case protocol::Outcome::aborted:
            return "aborted";
        case protocol::Outcome::canceled:
            return "canceled";
        case protocol::Outcome::stale:
            return "stale";
        case protocol::Outcome::failed:
            return "failed";
    }
    return "other";
}

std::string_view name_of_word(uint8_t word) {
    switch (static_cast<ExchangeWord>(word)) {
        case ExchangeWord::round:
            return "round";
        case ExchangeWord::group:
            return "group";
        case ExchangeWord::other:
            break;
    }
    return "other";
}

// The record's detail in words, which depend on its kind.
std::string_view detail_of(const Record& record) {
    switch (record.kind) {
        case RecordKind::call_begins:
        case RecordKind::call_waits:
            return protocol::name_of(static_cast<protocol::Verb>(record.detail));
        case RecordKind::call_ends:
            return name_of_outcome(record.detail);
        case RecordKind::exchange_begins:
        case RecordKind::exchange_ends:
        case RecordKind::exchange_waits:
            return name_of_word(record.detail);
        case RecordKind::message_in:
        case RecordKind::message_out:
            return protocol::control::EnumNameBody(
                static_cast<protocol::control::Body>(record.detail));
        default:
            return "";
    }
}

std::string_view failure_of(const Record& record) {
    if (record.kind != RecordKind::exchange_ends || record.detail_2 == 0) return "";
    return base::error_kind_name(static_cast<base::ErrorKind>(record.detail_2));
}

// No name in a row needs escaping.
void append_row(fmt::memory_buffer& text, const Record& record) {
    fmt::format_to(std::back_inserter(text), R"([{},"{}",{},{},{},{},{},"{}","{}",[)", record.at_ns,
                   name_of(record.kind), record.job, record.rank, record.node, record.number,
                   record.amount, detail_of(record), failure_of(record));
    const size_t here = std::min<size_t>(record.members_here, record.first.size());
    for (size_t i = 0; i < here; ++i)
        fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ",", record.first[i]);
    fmt::format_to(std::back_inserter(text), "],{}]", record.members);
}

template <typename Value>
json by_number(const std::map<uint32_t, Value>& values) {
    json object = json::object();
    for (const auto& [number, value] : values) object[std::to_string(number)] = value;
    return object;
}

json clock_of(const RecordingFacts& facts) {
    const uint64_t ago_ns = base::now_ns() - facts.now_ns;
    const auto unix_ns = static_cast<uint64_t>(base::since_1970().count());
    json clock = {{"now_ns", facts.now_ns},
                  {"unix_ns", unix_ns - ago_ns},
                  {"controller_offset_ns", nullptr},
                  {"controller_error_ns", nullptr}};
    if (facts.controller_clock) {
        clock["controller_offset_ns"] = facts.controller_clock->offset_ns;
        clock["controller_error_ns"] = facts.controller_clock->error_ns;
    }
    return clock;
}

json head_of(const Recorder& recorder, const RecordingFacts& facts) {
    return {{"recording", 1},
            {"node", facts.node},
            {"version", PACE_VERSION},
            {"reason", facts.reason},
            {"clock", clock_of(facts)},
            {"written", recorder.written()},
            {"jobs", by_number(recorder.jobs())},
            {"runs", by_number(recorder.runs())},
            {"nodes", by_number(recorder.nodes())}};
}

// A document without its end.
fmt::memory_buffer begin_document(const json& head) {
    const std::string said = head.dump(-1, ' ', true, json::error_handler_t::replace);
    fmt::memory_buffer text;
    fmt::format_to(std::back_inserter(text), "{},\"columns\":{}",
                   std::string_view(said).substr(0, said.size() - 1), kColumns);
    return text;
}

}  // namespace

std::string recording(const Recorder& recorder, const RecordingFacts& facts) {
    fmt::memory_buffer text = begin_document(head_of(recorder, facts));
    fmt::format_to(std::back_inserter(text), ",\"rows\":[");
    bool is_first = true;
    recorder.for_each([&](const Record& record) {
        fmt::format_to(std::back_inserter(text), "{}\n", std::exchange(is_first, false) ? "" : ",");
        append_row(text, record);
    });
    fmt::format_to(std::back_inserter(text), "]}}\n");
    return fmt::to_string(text);
}

std::string recording_part(const Recorder& recorder, const RecordingFacts& facts,
                           const RecordingPart& part) {
    constexpr size_t kEndBytes = 128;
    fmt::memory_buffer text = begin_document(head_of(recorder, facts));
    fmt::memory_buffer row;
    const uint64_t first = std::clamp(part.from, recorder.oldest(), recorder.written());
    uint64_t next = first;
    fmt::format_to(std::back_inserter(text), ",\"first\":{},\"rows\":[", first);
    for (; next < recorder.written(); ++next) {
        row.clear();
        append_row(row, recorder.at(next));
        if (text.size() + row.size() + kEndBytes > part.bytes_max) break;
        fmt::format_to(std::back_inserter(text), "{}\n", next == first ? "" : ",");
        text.append(row);
    }
    fmt::format_to(std::back_inserter(text), "],\"next\":{}}}\n", next);
    return fmt::to_string(text);
}

std::function<std::string()> begin_recording(const Recorder& recorder, RecordingFacts facts) {
    return [copy = std::make_shared<const Recorder>(recorder), facts = std::move(facts)] {
        return recording(*copy, facts);
    };
}

std::function<std::string()> begin_recording_part(const Recorder& recorder, RecordingFacts facts,
                                                  RecordingPart part) {
    return [copy = std::make_shared<const Recorder>(recorder), facts = std::move(facts), part] {
        return recording_part(*copy, facts, part);
    };
}

}  // namespace pace::daemon
