#include "models.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tally.h"

namespace pace::storms {

namespace {

std::string exactly(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.17g", value);
    return text;
}

}  // namespace

void Average::tune(AskedSession& job) const {
    job.policy = policy_;
    if (policy_ != PACE_POLICY_PRAGUE_STATIC) job.set(PACE_OPT_GROUP_SIZE, std::min(3U, job.world));
}

void Average::fill(std::span<float> data) const {
    for (size_t i = 0; i < data.size(); ++i) data[i] = model_ * static_cast<float>(1U << (i % 3));
}

std::string Average::handed_in() const {
    return "value=" + exactly(model_);
}

Finding Average::look_at(std::span<const float> data) const {
    Finding finding;
    finding.hash = hash_of(data);
    finding.value = exactly(data[0]);
    if (data[0] < 0.99F || data[0] > 8.01F)
        finding.wrong = "element 0 is " + finding.value + ", beyond all models";
    for (size_t i = 0; i < data.size() && finding.wrong.empty(); ++i) {
        const float expected = data[0] * static_cast<float>(1U << (i % 3));
        if (std::abs(data[i] - expected) > 1e-5F * expected)
            finding.wrong = "element " + std::to_string(i) + " is " + std::to_string(data[i]) +
                            ", not " + std::to_string(expected) + " as element 0 says";
    }
    return finding;
}

void Average::take(std::span<const float> data, const pace_request_info& info, Members members,
                   Finding& finding) {
    take_model(data);
    if (members.empty()) return;
    double weights = info.initial_weight;
    finding.content.clear();
    for (const pace_member& member : members) {
        weights += member.weight;
        finding.content += (finding.content.empty() ? "" : ",") + std::to_string(member.rank) +
                           ":" + exactly(member.weight);
    }
    if (finding.wrong.empty() && std::abs(weights - 1) > 1e-6)
        finding.wrong = "weights add up to " + exactly(weights) + ": " + finding.content;
}

void Served::tune(AskedSession& job) const {
    job.policy = policy_;
    if (policy_ == PACE_POLICY_SSP) job.set(PACE_OPT_SERVER_STALENESS, 3);
    job.set(PACE_OPT_SERVER_RATE, "sum");
    job.set(PACE_OPT_SERVER_ELEMENTS, elements_);
    job.set(PACE_OPT_SERVER_FILTER, 0);
    job.set(PACE_OPT_SERVER_CHECKPOINT_EVERY_MS, 500);
}

// The tally has only the count, because the sum of all steps of a worker would soon be inexact.
void Served::fill(std::span<float> data) const {
    Tally::write(data, rank_, 1);
}

Finding Served::look_at(std::span<const float> data) const {
    Finding finding;
    const Tally tally = Tally::read(data, finding.wrong);
    for (uint32_t rank = 0; rank < Tally::kRanks && finding.wrong.empty(); ++rank)
        if (tally.count(rank) != tally.steps(rank))
            finding.wrong = "updates are in a part of it: " + tally.text();
    finding.hash = hash_of(data);
    finding.content = tally.text();
    return finding;
}

void Served::take(std::span<const float> data, const pace_request_info& /*info*/,
                  Members /*members*/, Finding& finding) {
    if (!finding.wrong.empty()) return;
    const uint64_t found = Tally::read(data, finding.wrong).count(rank_);
    if (own_ && *own_ != found)
        finding.wrong = "it has " + std::to_string(found) + " updates of this worker, not " +
                        std::to_string(*own_);
    own_ = found;
}

void Served::take_model(std::span<const float> data) {
    std::string wrong;
    own_ = Tally::read(data, wrong).count(rank_);
}

void Served::pushed() {
    if (own_) ++*own_;
}

}  // namespace pace::storms
