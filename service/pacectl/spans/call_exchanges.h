// CallExchanges: which exchange served each call of a log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "service/pacectl/spans/call_log.h"

namespace pace::pacectl {

class CallExchanges {
  public:
    // Whether calls with this verb are served by exchanges; others are their worker's alone, or of
    // a parameter server.
    static bool serve(std::string_view verb);

    // `log` outlives this.
    explicit CallExchanges(const CallLog& log);

    // Null if no exchange served the call, or none has begun for it yet.
    const CallLog::Exchange* of(uint64_t call) const;
    // The rank of this node whose call for the exchange came last; none if one rank alone called.
    std::optional<uint64_t> last_rank(const CallLog::Exchange& exchange) const;

  private:
    using Exchanges = std::vector<const CallLog::Exchange*>;
    struct Callers {
        size_t count = 0;
        uint64_t last_rank = 0;
        uint64_t last_ns = 0;
    };

    const CallLog::Exchange* find_ended(const CallLog::Call& call) const;
    const CallLog::Exchange* find_open(const CallLog::Call& call) const;
    void match(uint64_t number, const CallLog::Call& call, const CallLog::Exchange* exchange);

    std::map<CallLog::Job, Exchanges> ended_;  // by their ends
    std::map<CallLog::Job, Exchanges> open_;   // by their beginnings
    std::map<uint64_t, const CallLog::Exchange*> of_call_;
    std::map<const CallLog::Exchange*, Callers> callers_;
};

}  // namespace pace::pacectl
