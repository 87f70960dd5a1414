// report.h: rank 0's report to the harness.
#pragma once

#include <string>
#include <vector>

#include "bench/common/options.h"
#include "bench/common/scoreboard.h"

namespace pace::bench {

// Writes one JSON object to options.out. It has "version" and "samples_s". From the workers'
// accounts it has "peak_rss_bytes", "wire_bytes" and "payload_bytes" (the largest) and "active"
// (in_time, summed). Ends the process with status 2 if the report cannot be written.
void write_report(const Options& options, const Scoreboard& board,
                  const std::vector<double>& samples_s, const std::string& version);

}  // namespace pace::bench
