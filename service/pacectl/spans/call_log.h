// CallLog: the calls of one node's ranks and the exchanges of its daemon, from rows of the daemon's
// flight recorder. Times are nanoseconds on the daemon's clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "service/pacectl/console/document.h"
#include "service/pacectl/recordings/recording_rows.h"

namespace pace::pacectl {

class CallLog {
  public:
    // A number alone does not name a job: a controller that has lost its journal counts anew.
    using Job = std::pair<uint64_t, std::string>;

    struct Call {
        Job job;
        uint64_t run = 0;  // when the job's run began; 0: not told
        uint64_t rank = 0;
        uint64_t request = 0;
        std::string verb;
        uint64_t elements = 0;
        uint64_t begin_ns = 0;
        std::optional<uint64_t> end_ns;
        std::string outcome;
        uint64_t bytes_sent = 0;
        // Between two calls with the same number the worker was there, and no row is missing.
        uint64_t stay = 0;
    };
    struct Exchange {
        Job job;
        std::string word;  // "round", "group" or "other"
        uint64_t number = 0;
        uint64_t begin_ns = 0;
        std::optional<uint64_t> end_ns;
        std::string failure;
        std::vector<std::string> nodes;
        std::vector<std::string> waited_for;  // nodes, if the exchange stood still for long
        uint64_t waited_ms = 0;
        std::vector<uint64_t> ranks;  // of an ordered group; empty: not known
    };

    // Calls and exchanges beyond `kept_max` of each are forgotten, the oldest first.
    explicit CallLog(size_t kept_max) : kept_max_(kept_max) {}

    // Adds the rows that came after those of the last document.
    void add(const Json& recording);

    // In the order in which they began.
    const std::map<uint64_t, Call>& calls() const { return calls_; }
    const std::map<uint64_t, Exchange>& exchanges() const { return exchanges_; }
    // Whether the rank of this call is still there.
    bool is_there(const Call& call) const;
    // Rows that the daemon had overwritten before they were read.
    uint64_t missed() const { return missed_; }

  private:
    using Seat = std::pair<Job, uint64_t>;                       // and rank
    using CallKey = std::tuple<Job, uint64_t, uint64_t>;         // and rank, request
    using ExchangeKey = std::tuple<Job, std::string, uint64_t>;  // and word, number
    using GroupKey = std::pair<Job, uint64_t>;

    void look_for_missing(const Json& recording);
    void add_row(const RecordingRow& row, const Json& recording);
    void begin_call(const RecordingRow& row, const Job& job, uint64_t run);
    void end_call(const RecordingRow& row, const Job& job);
    void add_exchange(const RecordingRow& row, const std::string& kind, const Job& job,
                      const Json& nodes);
    void begin_exchange(const ExchangeKey& key, Exchange exchange);
    void note_group(const RecordingRow& row, const Job& job);
    void end_stay(const Seat& seat, uint64_t gone_ns);

    size_t kept_max_;
    std::map<uint64_t, Call> calls_;  // by a number that rises
    std::map<uint64_t, Exchange> exchanges_;
    uint64_t begun_ = 0;                      // the number of the last one
    std::map<CallKey, uint64_t> open_calls_;  // their numbers
    std::map<ExchangeKey, uint64_t> open_exchanges_;
    std::map<GroupKey, std::vector<uint64_t>> ordered_;  // ranks of groups that are yet to begin
    std::map<Seat, uint64_t> stays_;
    uint64_t stays_begun_ = 0;
    uint64_t last_ns_ = 0;  // of the last row
    uint64_t written_ = 0;  // rows that the daemon had written by then
    uint64_t missed_ = 0;
};

}  // namespace pace::pacectl
