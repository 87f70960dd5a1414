#include "service/simulator/measured/measured_exchange.h"

#include <algorithm>
#include <cmath>

#include "service/simulator/files/cluster_file.h"
#include "service/simulator/measured/rounded.h"

namespace pace::simulator {

namespace {

// Beyond these bounds, the clock was measured, or a machine that had other work.
constexpr double kLeastGbytesPerS = 0.1;
constexpr double kMostGbytesPerS = 1000;

double least_exchange_ms(const MeasuredJob& job) {
    double least_ms = 0;
    for (const MeasuredWorker& worker : job.workers)
        if (worker.exchanged_ms > 0 && (least_ms == 0 || worker.exchanged_ms < least_ms))
            least_ms = worker.exchanged_ms;
    return least_ms;
}

bool has_whole_exchanges(const controller::JobOptions& options) {
    return family_of(options.policy) != controller::Family::server && !is_partial(options) &&
           !is_compressed(options.compression);
}

}  // namespace

double MeasuredExchange::moving_s(double bytes) const {
    return 2 * (nodes - 1) / nodes * bytes / link_bytes_per_s;
}

std::optional<MeasuredExchange> exchange_of(const MeasuredJob& job, const MeasuredLinks& links) {
    const auto world = static_cast<double>(job.workers.size());
    const double asked = job.options.group_size;
    const double members = asked >= 2 ? std::min(asked, world) : world;
    MeasuredExchange exchange;
    exchange.nodes = std::min(members, static_cast<double>(job.nodes.size()));
    exchange.workers_of_node = std::ceil(members / exchange.nodes);
    exchange.link_bytes_per_s = *std::min_element(links.gbit.begin(), links.gbit.end()) * 1e9 / 8;
    const double latency_s = exchange.nodes > 1 ? 2 * links.latency_us * 1e-6 : 0;
    exchange.time_s = least_exchange_ms(job) * 1e-3 - latency_s;
    if (exchange.time_s <= 0 || !has_whole_exchanges(job.options)) return std::nullopt;
    return exchange;
}

double bytes_by(const MeasuredExchange& exchange) {
    const double summing_s = 2 * exchange.workers_of_node / (kMemoryGbytesPerS * 1e9);
    return exchange.time_s / (summing_s + exchange.moving_s(1));
}

std::optional<double> memory_by(const MeasuredExchange& exchange, double bytes) {
    const double summing_s = exchange.time_s - exchange.moving_s(bytes);
    if (summing_s <= 0) return std::nullopt;
    const double gbytes_per_s = 2 * exchange.workers_of_node * bytes / summing_s / 1e9;
    return rounded(std::clamp(gbytes_per_s, kLeastGbytesPerS, kMostGbytesPerS));
}

}  // namespace pace::simulator
