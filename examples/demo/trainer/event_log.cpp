#include "event_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace demo {

EventLog::EventLog(const std::string& path) {
    if (path.empty()) return;
    file_.reset(std::fopen(path.c_str(), "we"));
    if (!file_) throw std::runtime_error(path + ": " + std::strerror(errno));
}

void EventLog::write(double seconds, uint64_t step, const Outcome& outcome) {
    if (!file_) return;
    nlohmann::json ranks = nlohmann::json::array();
    nlohmann::json weights = nlohmann::json::array();
    nlohmann::json staleness = nlohmann::json::array();
    for (const pace_member& member : outcome.members) {
        ranks.push_back(member.rank);
        weights.push_back(member.weight);
        staleness.push_back(member.staleness);
    }
    const nlohmann::json event = {{"seconds", seconds},
                                  {"step", step},
                                  {"iteration", outcome.info.iteration},
                                  {"group", std::max(outcome.info.group, outcome.info.round)},
                                  {"members", ranks},
                                  {"weights", weights},
                                  {"staleness", staleness},
                                  {"rounds", outcome.info.rounds},
                                  {"contributors", outcome.info.contributor_count},
                                  {"late", outcome.info.late},
                                  {"bytes_sent", outcome.info.bytes_sent},
                                  {"queued_ms", static_cast<double>(outcome.info.queued_ns) / 1e6},
                                  {"moving_ms", static_cast<double>(outcome.info.moving_ns) / 1e6}};
    const std::string line = event.dump() + "\n";
    std::fwrite(line.data(), 1, line.size(), file_.get());
}

}  // namespace demo
