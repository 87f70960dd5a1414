// Recordings as a daemon makes them (daemon/telemetry/recording.cpp), for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

// The recording of a daemon that has written nothing else since it started.
inline Json recording(const std::string& node, Json rows, int64_t unix_ns = 2'000'000'000,
                      const Json& controller_offset_ns = 500'000'000) {
    const Json document = {{"recording", 1},
                           {"node", node},
                           {"written", rows.size()},
                           {"clock",
                            {{"now_ns", 1'000'000'000},
                             {"unix_ns", unix_ns},
                             {"controller_offset_ns", controller_offset_ns}}},
                           {"jobs", {{"4", "fashion"}, {"5", "served"}}},
                           {"runs", {{"4", 1001}}},
                           {"nodes", {{"1", "a"}, {"2", "b"}}},
                           {"columns",
                            {"at_ns", "kind", "job", "rank", "node", "number", "amount", "detail",
                             "failure", "members", "of"}},
                           {"rows", std::move(rows)}};
    return Json::parse(document.dump());
}

// A row of job 4, "fashion".
inline Json row(uint64_t at_us, const char* kind, uint64_t rank, uint64_t number,
                const char* detail = "", const Json& members = Json::array()) {
    return {at_us * 1000, kind, 4, rank, 0, number, 10, detail, "", members, members.size()};
}

}  // namespace pace::pacectl
