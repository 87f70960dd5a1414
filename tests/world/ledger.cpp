#include "tests/world/ledger.h"

namespace pace::world {

namespace {

constexpr size_t kWrongsMax = 20;

}  // namespace

void Ledger::wrong(const std::string& what) {
    if (wrongs_.size() < kWrongsMax) wrongs_.push_back(timed(what));
}

std::string Ledger::timed(const std::string& what) const {
    return fmt::format("{:.6f} s: {}", base::to_seconds(clockwork_.now() - Clockwork::kBegin),
                       what);
}

void Ledger::agree(const std::string& name, uint64_t run, uint64_t number, uint64_t value,
                   const std::string& who) {
    claims_[who].push_back({{name, run, number}, value});
}

void Ledger::went_on(const std::string& who, base::TimePoint called_at) {
    settle_disputes(who, called_at);
    const auto claims = claims_.extract(who);
    if (claims.empty()) return;
    for (const auto& [what, value] : claims.mapped())
        say(who, value, said_[what], fmt::format("{} {}", std::get<0>(what), std::get<2>(what)));
}

void Ledger::say(const std::string& who, uint64_t value, Said& said, const std::string& what) {
    std::erase_if(said.by,
                  [this](const auto& other) { return begins_[other.first] != other.second; });
    if (said.by.empty()) said.value = value;
    if (said.value == value) {
        said.by[who] = begins_[who];
        return;
    }
    Dispute dispute;
    dispute.text = fmt::format("{}: {} has {:x}, but {} has {:x}", what, who, value,
                               said.by.begin()->first, said.value);
    dispute.began = clockwork_.now();
    dispute.sides[0] = said.by;
    dispute.sides[1] = {{who, begins_[who]}};
    disputes_.push_back(std::move(dispute));
}

void Ledger::settle_disputes(const std::string& who, base::TimePoint called_at) {
    for (Dispute& dispute : disputes_) {
        if (called_at < dispute.began) continue;
        for (size_t side = 0; side < 2; ++side) {
            const auto speaker = dispute.sides[side].find(who);
            if (speaker != dispute.sides[side].end() && speaker->second == begins_[who])
                dispute.goes_on[side] = true;
        }
        if (dispute.goes_on[0] && dispute.goes_on[1]) wrong(dispute.text);
    }
    std::erase_if(disputes_,
                  [](const Dispute& dispute) { return dispute.goes_on[0] && dispute.goes_on[1]; });
}

void Ledger::begins_anew(const std::string& who) {
    claims_.erase(who);
    own_parameters_.erase(who);
    ++begins_[who];
}

}  // namespace pace::world
