// Diary: what a trainer says of each of its requests, a line each to its standard output, where the storm reads it.
#pragma once

#include <cstdint>
#include <string>

#include "family.h"

namespace pace::storms {

uint64_t now_ns();

class Diary {
  public:
    // "ok NS GROUP HASH CONTENT WAITED_MS"
    void ended_well(uint64_t group, const Finding& finding, uint64_t waited_ms) const;
    // "end NS STATUS VERB WAITED_MS MESSAGE"
    void ended(pace_status status, const char* verb, uint64_t waited_ms, const char* message) const;
    // "wrong NS WHAT": no fault excuses it.
    void wrong(const std::string& what) const;
    // "slow NS VERB WAITED_MS": so far, in this process's own running time.
    void slow(const char* verb, uint64_t waited_ms) const;

  private:
    static void write_line(const std::string& line);
};

}  // namespace pace::storms
