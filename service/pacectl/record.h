// `pacectl record`: the flight recorders of daemons as one trace for ui.perfetto.dev.
#pragma once

#include <string>
#include <vector>

namespace pace::pacectl {

struct RecordOptions {
    std::string output;              // a file; empty: standard output
    std::vector<std::string> merge;  // files instead of this node's daemon
};

// What this node's daemon did lately. `endpoint`: as --endpoint gives it; empty: the default.
int write_recording(const std::string& endpoint, const RecordOptions& options);

}  // namespace pace::pacectl
