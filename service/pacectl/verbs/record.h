// `pacectl record`: the flight recorders of all nodes' daemons as one trace for ui.perfetto.dev.
#pragma once

#include <string>
#include <vector>

namespace pace::pacectl {

struct RecordOptions {
    std::string output;              // a file; empty: standard output
    std::vector<std::string> merge;  // files instead of daemons
    std::vector<std::string> nodes;  // these alone; empty: all that are alive
    bool is_local = false;           // this node alone
    // The URL of an OpenTelemetry collector that gets the calls of the daemons' workers; empty:
    // none. Not with `merge`.
    std::string otlp;
};

// `endpoint`: as --endpoint gives it; empty: the default. Nodes that do not answer are told.
int write_recording(const std::string& endpoint, const RecordOptions& options);

}  // namespace pace::pacectl
