// Span: a time in which a rank did one thing, for traces of any format.
#pragma once

#include <cstdint>
#include <string>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

struct Span {
    std::string job;
    // Which run of the job, the same at every node. Jobs of one name have different ones.
    uint64_t run = 0;
    std::string node;  // its name
    uint64_t rank = 0;
    uint64_t lane = 0;     // spans of one rank that overlap have different ones
    std::string category;  // "group" or "call"
    std::string name;      // "computing", "waiting", "exchanging", "failed", or a verb

    // Microseconds on the controller's monotonic clock; on the node's, where a recording does not
    // know the controller's.
    uint64_t begin_us = 0;
    uint64_t end_us = 0;
    bool has_ended = true;  // otherwise `end_us` is when it was looked at

    // What the spans of all ranks in one exchange have in common: "round 12". Empty: no exchange.
    std::string exchange;
    // What the spans of one rank's step have in common, and no other step of the rank has. It stays
    // the same in every later look.
    std::string step;
    Json arguments = Json::object();
};

}  // namespace pace::pacectl
