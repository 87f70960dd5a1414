#include "gradients.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tally.h"

namespace pace::storms {

namespace {

constexpr uint64_t kHalfSteps = 256;

uint32_t givers(Members members) {
    uint32_t ranks = 0;
    for (const pace_member& member : members)
        if (member.weight != 0) ranks |= 1U << member.rank;
    return ranks;
}

Finding tally_of(std::span<const float> data) {
    Finding finding;
    const Tally tally = Tally::read(data, finding.wrong);
    finding.hash = hash_of(data);
    finding.content = tally.text();
    return finding;
}

void compare_givers(uint32_t listed, uint32_t found, Finding& finding) {
    if (finding.wrong.empty() && listed != found)
        finding.wrong = "members " + std::to_string(listed) + " are told as bits, those of " +
                        std::to_string(found) + " are in it: " + finding.content;
}

}  // namespace

AllReduce::AllReduce(uint32_t rank, uint64_t first_step, std::string compression)
    : Family(Kind::rounds), rank_(rank), step_(first_step), compression_(compression) {}

void AllReduce::tune(AskedSession& job) const {
    job.policy = PACE_POLICY_ALL_REDUCE;
    job.set(PACE_OPT_COMPRESSION, compression_);
}

uint64_t AllReduce::told_step() const {
    return compression_ == "f16" ? 1 + step_ % kHalfSteps : step_;
}

void AllReduce::fill(std::span<float> data) const {
    Tally::write(data, rank_, told_step());
}

std::string AllReduce::handed_in() const {
    return "step=" + std::to_string(told_step());
}

Finding AllReduce::look_at(std::span<const float> data) const {
    return tally_of(data);
}

void AllReduce::take(std::span<const float> data, const pace_request_info& /*info*/,
                     Members members, Finding& finding) {
    const Tally tally = Tally::read(data, finding.wrong);
    for (uint32_t rank = 0; rank < Tally::kRanks && finding.wrong.empty(); ++rank)
        if (tally.count(rank) > 1) finding.wrong = "a gradient is in it twice: " + finding.content;
    if (finding.wrong.empty() && (tally.count(rank_) != 1 || tally.steps(rank_) != told_step()))
        finding.wrong = "this worker's gradient of step " + std::to_string(told_step()) +
                        " is not in it: " + finding.content;
    if (!members.empty()) compare_givers(givers(members), tally.ranks(), finding);
}

void Majority::tune(AskedSession& job) const {
    job.policy = PACE_POLICY_ALL_REDUCE;
    job.set(PACE_OPT_QUORUM, "majority");
}

void Majority::fill(std::span<float> data) const {
    Tally::write(data, rank_, step_);
}

Finding Majority::look_at(std::span<const float> data) const {
    return tally_of(data);
}

void Majority::take(std::span<const float> data, const pace_request_info& info, Members members,
                    Finding& finding) {
    // The result of a late worker holds several rounds. The members are those of the last round.
    if (info.rounds != 1 || members.empty()) return;
    const Tally tally = Tally::read(data, finding.wrong);
    compare_givers(givers(members), tally.ranks(), finding);
    const auto found = static_cast<uint32_t>(std::popcount(tally.ranks()));
    if (finding.wrong.empty() && info.contributor_count != found)
        finding.wrong = std::to_string(info.contributor_count) + " contributors are told, " +
                        std::to_string(found) + " are in it: " + finding.content;
}

void SparDl::tune(AskedSession& job) const {
    job.policy = PACE_POLICY_ALL_REDUCE;
    job.set(PACE_OPT_COMPRESSION, "spardl");
    job.set(PACE_OPT_TOPK_DENSITY, 0.01);
    job.set(PACE_OPT_TOPK_DENSE_FALLBACK, "never");
}

float SparDl::gradient(size_t element) const {
    const auto mixed = static_cast<uint32_t>(element) * 2654435761U +
                       static_cast<uint32_t>(step_) * 40503U + rank_ * 977U;
    return static_cast<float>(1 + (mixed >> 9) % 64);
}

void SparDl::fill(std::span<float> data) const {
    for (size_t i = 0; i < data.size(); ++i) data[i] = gradient(i);
    mass_ = mass_of(data);
}

std::string SparDl::handed_in() const {
    return "step=" + std::to_string(step_) + " mass=" + std::to_string(mass_);
}

Finding SparDl::look_at(std::span<const float> data) const {
    Finding finding;
    finding.hash = hash_of(data);
    finding.value = std::to_string(mass_of(data));
    for (size_t i = 0; i < data.size() && finding.wrong.empty(); ++i)
        if (data[i] < 0 || data[i] != std::floor(data[i]))
            finding.wrong = "element " + std::to_string(i) + " is " + std::to_string(data[i]) +
                            ", not a sum of whole numbers";
    return finding;
}

void SparDl::take(std::span<const float> data, const pace_request_info& info, Members members,
                  Finding& finding) {
    if (members.empty()) return;
    finding.content.clear();
    for (const pace_member& member : members)
        if (member.weight != 0)
            finding.content += (finding.content.empty() ? "" : ",") + std::to_string(member.rank);
    if (info.dense != 0 && info.node_count > 1)
        finding.wrong = "it went dense among " + std::to_string(info.node_count) + " nodes";
    const auto entries =
        static_cast<uint64_t>(std::ranges::count_if(data, [](float value) { return value != 0; }));
    if (finding.wrong.empty() && info.dense == 0 && entries != info.entries)
        finding.wrong = std::to_string(info.entries) + " entries are told, " +
                        std::to_string(entries) + " are there";
}

}  // namespace pace::storms
