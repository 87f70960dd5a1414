// report.h: what rank 0 tells the harness.
#pragma once

#include <string>
#include <vector>

#include "bench/common/options.h"
#include "bench/common/scoreboard.h"

namespace pace::bench {

// One JSON object to options.out: "version", "samples_s", and from the workers' accounts
// "peak_rss_bytes", "wire_bytes" and "payload_bytes" (the largest) and "active" (in_time, summed). Ends the
// process with status 2 when it cannot be written.
void write_report(const Options& options, const Scoreboard& board,
                  const std::vector<double>& samples_s, const std::string& version);

}  // namespace pace::bench
