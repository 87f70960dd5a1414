// Recorder: the last records of a daemon, in a ring. Only the event loop's thread writes and reads
// it.
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
    // Members recorded of one exchange or view; the number of all is always recorded.
    static constexpr size_t kMembersMax = 64;
    // Names kept of jobs, and of nodes: the newest.
    static constexpr size_t kNamesMax = 4096;

    Recorder() : ring_(kRecords) {}

    void note(Record record) { note(record, base::now_ns()); }
    void note(Record record, uint64_t at_ns) {
        record.at_ns = at_ns;
        ring_[written_++ % kRecords] = record;
    }
    // Notes a record with its members.
    void note(Record record, std::span<const uint32_t> members);

    // Set the names of numbers. Numbers rise, so the smallest are forgotten first.
    void name_job(uint32_t job, const std::string& name) { keep(jobs_, job, name); }
    void name_run(uint32_t job, uint64_t began) { keep(runs_, job, began); }
    void name_node(uint32_t node, const std::string& name) { keep(nodes_, node, name); }

    uint64_t written() const { return written_; }
    // The number of the oldest record that is left. Records are numbered from 0.
    uint64_t oldest() const { return written_ < kRecords ? 0 : written_ - kRecords; }
    // `number` is at least oldest(), and below written().
    const Record& at(uint64_t number) const { return ring_[number % kRecords]; }
    // Calls `function` for the remaining records, oldest first.
    template <typename Function>
    void for_each(const Function& function) const {
        for (uint64_t i = oldest(); i < written_; ++i) function(at(i));
    }
    using Names = std::map<uint32_t, std::string>;
    const Names& jobs() const { return jobs_; }
    const Names& nodes() const { return nodes_; }
    // When the run of each job began, as its controller says it: another run has another number.
    using Runs = std::map<uint32_t, uint64_t>;
    const Runs& runs() const { return runs_; }

  private:
    // Among the newest kNamesMax.
    template <typename Value>
    static void keep(std::map<uint32_t, Value>& values, uint32_t number, const Value& value) {
        values[number] = value;
        if (values.size() > kNamesMax) values.erase(values.begin());
    }

    std::vector<Record> ring_;
    uint64_t written_ = 0;
    Names jobs_;
    Names nodes_;
    Runs runs_;
};

// Makes a record of an exchange whose words end with its kind and number, such as "round 12".
Record exchange_record(RecordKind kind, uint32_t job, std::string_view words);

}  // namespace pace::daemon
