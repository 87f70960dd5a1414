#include "service/simulator/timing/shares.h"

#include <algorithm>
#include <cmath>

#include "service/simulator/timing/virtual_time.h"

namespace pace::simulator {

Shares::Shares(std::span<const Channel> channels) {
    for (const Channel& channel : channels) channels_.push_back({channel.bytes_per_s, 0, {}});
}

void Shares::begin(uint32_t id, const Stage& stage, TimePoint now) {
    if (id >= flows_.size()) flows_.resize(id + 1);
    Flow& flow = flows_[id];
    flow.bytes_left = stage.bytes;
    flow.bytes_per_s = 0;
    flow.since = now;
    flow.uses = stage.uses;
    for (const Use& use : flow.uses) {
        channels_[use.channel].streams += use.streams;
        channels_[use.channel].flows.push_back(id);
    }
    refresh_beside(stage.uses, now);
}

std::optional<TimePoint> Shares::next_end() {
    drop_stale();
    if (endings_.empty()) return std::nullopt;
    return endings_.top().when;
}

uint32_t Shares::end_next() {
    drop_stale();
    const Ending ending = endings_.top();
    endings_.pop();
    Flow& flow = flows_[ending.id];
    flow.version = 0;
    for (const Use& use : flow.uses) {
        Shared& channel = channels_[use.channel];
        std::erase(channel.flows, ending.id);
        // Streams may be fractions, so a small rest could remain.
        channel.streams = channel.flows.empty() ? 0 : channel.streams - use.streams;
    }
    refresh_beside(flow.uses, ending.when);
    return ending.id;
}

void Shares::refresh_beside(const std::vector<Use>& uses, TimePoint now) {
    for (const Use& use : uses)
        for (const uint32_t id : channels_[use.channel].flows) refresh(id, now);
}

// Sets the flow's rate for the present use of the channels, and its end from the rate.
void Shares::refresh(uint32_t id, TimePoint now) {
    Flow& flow = flows_[id];
    double rate = INFINITY;
    for (const Use& use : flow.uses)
        rate = std::min(rate, channels_[use.channel].bytes_per_s / channels_[use.channel].streams);
    if (rate == flow.bytes_per_s) return;
    const double moved = flow.bytes_per_s * base::to_seconds(now - flow.since);
    flow.bytes_left = std::max(0.0, flow.bytes_left - moved);
    flow.bytes_per_s = rate;
    flow.since = now;
    flow.version = next_version_++;
    endings_.push({now + to_duration(flow.bytes_left / rate), flow.version, id});
}

void Shares::drop_stale() {
    while (!endings_.empty() && endings_.top().version != flows_[endings_.top().id].version)
        endings_.pop();
}

}  // namespace pace::simulator
