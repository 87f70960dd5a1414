#include "bench/common/report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace pace::bench {

namespace {

// Returns a summary of the workers' accounts.
Account summary_of(const Scoreboard& board) {
    Account summary;
    for (uint32_t rank = 0; rank < board.world(); ++rank) {
        const Account& account = board.account_of(rank);
        summary.peak_rss_bytes = std::max(summary.peak_rss_bytes, account.peak_rss_bytes);
        summary.wire_bytes = std::max(summary.wire_bytes, account.wire_bytes);
        summary.payload_bytes = std::max(summary.payload_bytes, account.payload_bytes);
        summary.in_time += account.in_time;
    }
    return summary;
}

}  // namespace

void write_report(const Options& options, const Scoreboard& board,
                  const std::vector<double>& samples_s, const std::string& version) {
    std::FILE* file = std::fopen(options.out.c_str(), "w");
    if (file == nullptr) {
        std::perror(options.out.c_str());
        std::exit(2);
    }
    const Account summary = summary_of(board);
    std::fprintf(file,
                 "{\"version\": \"%s\", \"peak_rss_bytes\": %llu, \"wire_bytes\": %llu, "
                 "\"payload_bytes\": %llu, \"active\": %.3f, \"samples_s\": [",
                 version.c_str(), static_cast<unsigned long long>(summary.peak_rss_bytes),
                 static_cast<unsigned long long>(summary.wire_bytes),
                 static_cast<unsigned long long>(summary.payload_bytes), summary.in_time);
    const char* separator = "";
    for (const double seconds : samples_s) {
        std::fprintf(file, "%s%.9f", separator, seconds);
        separator = ", ";
    }
    std::fprintf(file, "]}\n");
    std::fclose(file);
}

}  // namespace pace::bench
