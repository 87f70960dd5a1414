#include "service/pacectl/recordings/cluster_recordings.h"

#include <algorithm>
#include <utility>

namespace pace::pacectl {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

// A recorder has 32,768 records, and a part has some thousands.
constexpr int kPartsMax = 256;

Result<> check_part(const std::string& node, const Json& part) {
    const bool is_part = count(part, "recording") == 1 && member(part, "rows").is_array() &&
                         member(part, "written").is_number_unsigned() &&
                         member(part, "next").is_number_unsigned();
    if (is_part) return {};
    return make_error(ErrorKind::corrupt, "what came from node {} is no part of a recording", node);
}

Result<Json> checked_part(const std::string& node, uint64_t from, const AskForPart& ask) {
    PACE_TRY_ASSIGN(part, ask(node, from));
    PACE_TRY(check_part(node, part));
    return part;
}

}  // namespace

std::vector<std::string> nodes_alive(const Json& status) {
    std::vector<std::string> names;
    for (const Json& node : list(status, "nodes"))
        if (text(node, "status", "") == "alive") names.push_back(text(node, "name"));
    return names;
}

Result<Json> recording_of(const std::string& node, uint64_t rows_max, const AskForPart& ask) {
    // A part from beyond the end has no rows, and says how many there are.
    PACE_TRY_ASSIGN(whole, checked_part(node, UINT64_MAX, ask));
    const uint64_t written = count(whole, "written");
    uint64_t from = written - std::min(written, rows_max);
    Json rows = Json::array();
    for (int parts = 0; parts < kPartsMax && from < written; ++parts) {
        PACE_TRY_ASSIGN(part, checked_part(node, from, ask));
        const uint64_t next = count(part, "next");
        Json& more = part["rows"];
        if (next <= from || more.empty()) break;
        for (Json& row : more) rows.push_back(std::move(row));
        from = next;
        whole = std::move(part);  // its names are the newest
    }
    whole["rows"] = std::move(rows);
    whole.erase("first");
    whole.erase("next");
    return whole;
}

}  // namespace pace::pacectl
