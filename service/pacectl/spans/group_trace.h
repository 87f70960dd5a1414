// GroupTrace: the groups of status documents as spans.
//
// The spans of a rank follow one another: a rank *waits* from its signal to the order that names
// it, and *exchanges* from there until its node is done; the exchange of a group that failed is
// named so. A span that has not ended reaches to the last document.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "service/pacectl/console/document.h"
#include "service/pacectl/spans/span.h"

namespace pace::pacectl {

class GroupTrace {
  public:
    // Groups that a trace keeps; the oldest go first. A guess at what a viewer still opens.
    static constexpr size_t kGroupsMax = 100'000;

    // A trace of one job, or of all jobs with an empty name.
    explicit GroupTrace(std::string job, size_t groups_max = kGroupsMax)
        : only_(std::move(job)), groups_max_(groups_max) {}

    // A later document adds its groups, and replaces what an earlier one said of them.
    void add(const Json& status);

    size_t groups() const { return groups_.size(); }
    // How many groups each job has had, of which the trace may have fewer.
    const std::map<std::string, uint64_t>& ordered() const { return ordered_; }
    // Whether a document had a job of this name that averages in groups.
    bool has_job(const std::string& name) const { return ordered_.contains(name); }
    std::vector<Span> spans() const;

  private:
    struct Group {
        std::string job;
        uint64_t run = 0;
        Json record;
    };
    struct Wait {
        std::string job;
        uint64_t rank = 0;
        uint64_t node = 0;
        uint64_t since_us = 0;
    };

    using Track = std::vector<Span>;
    using Tracks = std::map<std::tuple<std::string, uint64_t, uint64_t>, Track>;  // job, node, rank

    void add_waits(const Json& job);
    std::string node_name(uint64_t node) const;
    void add_span(uint64_t node, Span span, Tracks& ret_tracks) const;
    void add_group(const Group& group, Tracks& ret_tracks) const;

    std::string only_;
    size_t groups_max_;
    uint64_t clock_us_ = 0;                  // of the last document
    std::map<uint64_t, std::string> nodes_;  // names
    std::map<uint64_t, Group> groups_;       // by id, which grows
    std::vector<Wait> waits_;                // in the last document, for a group to come
    std::map<std::string, uint64_t> ordered_;
};

}  // namespace pace::pacectl
