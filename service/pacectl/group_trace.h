// GroupTrace: the groups of status documents as a trace in Chrome's trace-event format, which
// ui.perfetto.dev and chrome://tracing show.
//
// One process of the trace is a node with its workers of one job, one thread a rank. On each thread
// events follow one another: a rank *waits* from its signal to the order that names it, and
// *exchanges* from there until its node is done; of a group that failed the event is named so.
// Whatever has not ended reaches to the last document. Times are microseconds on the controller's
// monotonic clock, so that traces of one controller can be laid side by side.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "service/pacectl/document.h"

namespace pace::pacectl {

class GroupTrace {
  public:
    // Groups that a trace keeps; the oldest go first. A guess at what a viewer still opens.
    static constexpr size_t kGroupsMax = 100'000;

    // Of one job; an empty name: of all.
    explicit GroupTrace(std::string job, size_t groups_max = kGroupsMax)
        : only_(std::move(job)), groups_max_(groups_max) {}

    // A later document adds its groups, and replaces what an earlier one said of them.
    void add(const Json& status);

    size_t groups() const { return groups_.size(); }
    Json chrome() const;

  private:
    struct Group {
        std::string job;
        Json record;
    };
    struct Wait {
        std::string job;
        uint64_t rank = 0;
        uint64_t node = 0;
        uint64_t since_us = 0;
    };

    void add_waits(const Json& job);

    std::string only_;
    size_t groups_max_;
    uint64_t clock_us_ = 0;                    // of the last document
    std::map<uint64_t, std::string> nodes_;    // names
    std::map<uint64_t, Group> groups_;         // by id, which grows
    std::vector<Wait> waits_;                  // in the last document, for a group to come
    std::map<std::string, uint64_t> ordered_;  // groups that each job has had
};

}  // namespace pace::pacectl
