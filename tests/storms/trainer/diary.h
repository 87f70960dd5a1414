// Diary: the trainer's report on each of its calls. Each report is a line on standard output, where
// the storm reads it.
//
// A line is "KIND NS VERB NAME=VALUE ... | TEXT". NS is the time of writing by CLOCK_MONOTONIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "family.h"

namespace pace::storms {

uint64_t now_ns();

// Returns the number of the group, of the round, or of the model's version, whichever the request's
// verb has. The others are 0.
inline uint64_t number_of(const pace_request_info& info) {
    return std::max({info.group, info.round, info.version});
}

class Diary {
  public:
    // "call": the contribution from now on, in words of the family.
    void calls(const char* verb, const std::string& handed_in) const;
    // "ok": the call ended well, with the worker's result.
    void ended_well(const char* verb, const pace_request_info& info, const Finding& finding,
                    uint64_t waited_ms) const;
    // "end": the call ended in another way, or was refused.
    void ended(const char* verb, pace_status status, pace_contents contents, uint64_t waited_ms,
               const char* message) const;
    // "result": the daemon was gone, and the buffers hold the whole result. `group` is 0 where it
    // is unknown.
    void inherited(const char* verb, uint64_t group, const Finding& finding) const;
    // "reconnected": the verb went to another daemon, or gave another step to go on with, and ended
    // as if there was no fault.
    void reconnected(const char* verb, uint64_t from, uint64_t to) const;
    // "owed": the residuals of top-k between this round and the next.
    void owed(uint64_t group, double mass) const;
    // "blocked": a call that blocks took this long.
    void blocked(const char* what, uint64_t ms) const;
    // "slow": a request has taken this long, in this process's own running time, and goes on.
    void slow(const char* verb, uint64_t waited_ms) const;
    // "wrong": an error that no fault excuses.
    void wrong(const char* verb, const std::string& what) const;

  private:
    static void write_line(const char* kind, const char* verb, const std::string& rest);
};

}  // namespace pace::storms
