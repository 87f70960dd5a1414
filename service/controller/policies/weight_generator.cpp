#include "service/controller/policies/weight_generator.h"

#include <algorithm>
#include <cmath>

namespace pace::controller {
namespace {

// The exponential moving average of equation (9): beta(s) = (1-a) a^s / (1 - a^K), s = 0 .. K-1.
// The staleness s = r - 1 replaces the paper's r, which would overflow for a member that is 2^64-1
// iterations behind.
class MovingAverage {
  public:
    MovingAverage(double alpha, uint64_t staleness_max)
        : log_alpha_(std::log(alpha)),
          all_(-std::expm1((static_cast<double>(staleness_max) + 1) * log_alpha_)) {}

    // The sum of beta over staleness first .. last, in closed form.
    double between(uint64_t first, uint64_t last) const {
        const double count = static_cast<double>(last - first) + 1;
        return std::exp(static_cast<double>(first) * log_alpha_) * -std::expm1(count * log_alpha_) /
               all_;
    }

  private:
    double log_alpha_;
    double all_;
};

// Members of one staleness share its beta equally.
struct Version {
    uint64_t staleness;
    uint32_t members;
};

// The distinct versions, newest first.
std::vector<Version> versions_of(std::span<const uint64_t> iterations, uint64_t newest) {
    std::vector<uint64_t> staleness;
    staleness.reserve(iterations.size());
    for (const uint64_t k : iterations) staleness.push_back(newest - k);
    std::sort(staleness.begin(), staleness.end());
    std::vector<Version> versions;
    for (const uint64_t s : staleness) {
        if (versions.empty() || versions.back().staleness != s) versions.push_back({s, 0});
        ++versions.back().members;
    }
    return versions;
}

// The share of each member of a version. The shares of missing versions go to the nearest present
// version, at a tie to the newer (Missing::closest), or stay with the initial model
// (Missing::initial).
std::vector<double> shares_of(const JobOptions& options, const std::vector<Version>& versions) {
    const MovingAverage beta(options.alpha, versions.back().staleness);
    std::vector<double> shares;
    uint64_t first = 0;
    for (size_t i = 0; i < versions.size(); ++i) {
        uint64_t last = versions[i].staleness;
        if (options.missing == Missing::initial) {
            first = last;
        } else if (i + 1 < versions.size()) {
            last += (versions[i + 1].staleness - last) / 2;
        }
        shares.push_back(beta.between(first, last) / versions[i].members);
        first = last + 1;
    }
    return shares;
}

void generate_dynamic(const JobOptions& options, std::span<const uint64_t> iterations,
                      GroupWeights& ret_weights) {
    const std::vector<Version> versions = versions_of(iterations, ret_weights.iteration);
    const std::vector<double> shares = shares_of(options, versions);
    double sum = 0;
    for (const uint64_t k : iterations) {
        const uint64_t staleness = ret_weights.iteration - k;
        const auto version = std::lower_bound(
            versions.begin(), versions.end(), staleness,
            [](const Version& v, uint64_t wanted) { return v.staleness < wanted; });
        ret_weights.members.push_back(shares[static_cast<size_t>(version - versions.begin())]);
        sum += ret_weights.members.back();
    }
    // Rounding leaves a remainder. Without an initial model the members' weights are scaled to a
    // sum of exactly one.
    const bool whole =
        options.missing == Missing::closest || versions.back().staleness + 1 == versions.size();
    if (!whole) {
        ret_weights.initial = std::max(0.0, 1 - sum);
        return;
    }
    for (double& weight : ret_weights.members) weight /= sum;
}

}  // namespace

void generate_weights(const JobOptions& options, std::span<const uint64_t> iterations,
                      GroupWeights& ret_weights) {
    ret_weights.members.clear();
    ret_weights.initial = 0;
    ret_weights.iteration = *std::max_element(iterations.begin(), iterations.end());
    const uint64_t oldest = *std::min_element(iterations.begin(), iterations.end());
    if (options.weights == Weights::constant || oldest == ret_weights.iteration) {
        ret_weights.members.assign(iterations.size(), 1.0 / static_cast<double>(iterations.size()));
        return;
    }
    if (options.alpha > 0) return generate_dynamic(options, iterations, ret_weights);
    // Alpha 0 is the limit in which only the newest version counts.
    const auto newest = std::count(iterations.begin(), iterations.end(), ret_weights.iteration);
    for (const uint64_t k : iterations) {
        ret_weights.members.push_back(k == ret_weights.iteration ? 1.0 / static_cast<double>(newest)
                                                                 : 0.0);
    }
}

}  // namespace pace::controller
