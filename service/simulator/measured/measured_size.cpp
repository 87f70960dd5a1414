#include "service/simulator/measured/measured_size.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "service/simulator/files/scenario_file.h"
#include "service/simulator/measured/measured_exchange.h"

namespace pace::simulator {

using base::Result;

namespace {

constexpr uint64_t kServerElementBytes = 4;

uint64_t whole_bytes(double bytes) {
    return static_cast<uint64_t>(
        std::clamp(std::round(bytes), 1.0, static_cast<double>(kBytesMax)));
}

// Returns 0 if no group spans nodes.
double bytes_by_groups(const MeasuredJob& job) {
    std::vector<double> sizes;
    for (const MeasuredGroup& group : job.groups)
        if (group.nodes > 1 && group.bytes > 0)
            sizes.push_back(static_cast<double>(group.bytes) /
                            (2 * static_cast<double>(group.nodes - 1)));
    if (sizes.empty()) return 0;
    std::sort(sizes.begin(), sizes.end());
    return sizes[sizes.size() / 2];
}

}  // namespace

Result<MeasuredSize> size_of(const MeasuredJob& job, const MeasuredLinks& links) {
    if (job.options.elements > 0)
        return MeasuredSize{std::min(job.options.elements * kServerElementBytes, kBytesMax)};
    if (const double bytes = bytes_by_groups(job); bytes > 0)
        return MeasuredSize{
            whole_bytes(bytes),
            fmt::format("The model has {:.4g} MB, by what the nodes of recent groups have sent.",
                        bytes / 1e6)};
    const auto exchange = exchange_of(job, links);
    const double bytes = exchange ? bytes_by(*exchange) : 0;
    if (bytes >= 1)
        return MeasuredSize{
            whole_bytes(bytes),
            fmt::format("Assumed: the model has {:.4g} MB, which is what exchanges of the measured "
                        "time would be of; give --bytes if you know it.",
                        bytes / 1e6),
            true};
    return base::make_error(base::ErrorKind::invalid,
                            "the document does not tell how large the model of job '{}' is; give "
                            "--bytes, say --bytes \"100 MB\"",
                            job.name);
}

}  // namespace pace::simulator
