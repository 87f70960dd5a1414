// RecordingRow: one row of a daemon's recording, read by the names of its columns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "service/pacectl/console/document.h"

namespace pace::pacectl {

class RecordingRow {
  public:
    using Columns = std::map<std::string, size_t>;

    RecordingRow(const Columns& columns, const Json& values) : columns_(columns), values_(values) {}

    // A null for what is missing.
    const Json& at(const char* column) const;
    uint64_t count(const char* column) const;
    std::string text(const char* column) const;
    double at_us() const { return static_cast<double>(count("at_ns")) / 1e3; }

  private:
    const Columns& columns_;
    const Json& values_;
};

// Calls `take` with each row of the recording, the oldest first. A row has all of its members:
// those that did not fit into it are taken from the rows "more-members" behind it.
void for_each_row(const Json& recording, const std::function<void(const RecordingRow&)>& take);

// The name of a job or node, from the recording's "jobs" or "nodes"; "#7" if number 7 has none.
std::string name_in(const Json& names, uint64_t number);

// The names of the row's members, which are nodes.
std::vector<std::string> member_names(const RecordingRow& row, const Json& nodes);

}  // namespace pace::pacectl
