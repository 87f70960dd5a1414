// Recorder: the last records of a daemon, in a ring. The event loop's thread alone writes and reads it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/recorder/record.h"

namespace pace::daemon {

class Recorder {
  public:
    // 2 MiB: some minutes of a daemon with ten workers and ten steps a second.
    static constexpr size_t kRecords = size_t{1} << 15U;
    // Of one exchange or view, that are kept; their number always is.
    static constexpr size_t kMembersMax = 64;
    // Names of jobs, and of nodes, that are kept: the newest.
    static constexpr size_t kNamesMax = 4096;

    Recorder() : ring_(kRecords) {}

    void note(Record record) { note(record, base::now_ns()); }
    void note(Record record, uint64_t at_ns) {
        record.at_ns = at_ns;
        ring_[written_++ % kRecords] = record;
    }
    // With its members.
    void note(Record record, std::span<const uint32_t> members);

    // What the numbers stand for. Numbers rise: the smallest are forgotten first.
    void name_job(uint32_t job, const std::string& name) { keep(jobs_, job, name); }
    void name_node(uint32_t node, const std::string& name) { keep(nodes_, node, name); }

    uint64_t written() const { return written_; }
    // Those that are left, oldest first.
    template <typename Function>
    void for_each(const Function& function) const {
        const uint64_t first = written_ < kRecords ? 0 : written_ - kRecords;
        for (uint64_t i = first; i < written_; ++i) function(ring_[i % kRecords]);
    }
    using Names = std::map<uint32_t, std::string>;
    const Names& jobs() const { return jobs_; }
    const Names& nodes() const { return nodes_; }

  private:
    static void keep(Names& names, uint32_t number, const std::string& name);

    std::vector<Record> ring_;
    uint64_t written_ = 0;
    Names jobs_;
    Names nodes_;
};

// The number with which an exchange's words end, and what it counts: "round 12".
Record exchange_record(RecordKind kind, uint32_t job, std::string_view words);

}  // namespace pace::daemon
