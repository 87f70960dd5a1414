#include "service/controller/core/jobs/fewest_to_leave.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace pace::controller {

namespace {

using Pair = CutLinks::Pair;

// After this many examined cuts the best cover so far is taken. A guess: milliseconds.
constexpr size_t kLooksMax = 1'000'000;

class Search {
  public:
    Search(std::span<const Pair> cuts, const std::map<NodeId, uint32_t>& workers)
        : cuts_(cuts.begin(), cuts.end()), workers_(workers), best_(by_degree()) {}

    std::set<NodeId> run() {
        extend({});
        return best_;
    }

  private:
    struct Cost {
        size_t nodes = 0;
        uint64_t workers = 0;
        uint64_t lowness = 0;  // greater for lower numbers
        auto operator<=>(const Cost&) const = default;
    };

    uint32_t workers_of(NodeId node) const {
        const auto found = workers_.find(node);
        return found == workers_.end() ? 0 : found->second;
    }

    Cost cost(const std::set<NodeId>& chosen) const {
        Cost cost{chosen.size(), 0, 0};
        for (const NodeId node : chosen) {
            cost.workers += workers_of(node);
            cost.lowness += ~NodeId{0} - node;
        }
        return cost;
    }

    const Pair* first_uncovered(const std::set<NodeId>& chosen) const {
        const auto found = std::find_if(cuts_.begin(), cuts_.end(), [&](const Pair& cut) {
            return !chosen.contains(cut.low) && !chosen.contains(cut.high);
        });
        return found == cuts_.end() ? nullptr : &*found;
    }

    // Repeatedly takes the node with the most uncovered cuts. This is the search's first bound, and
    // exact if one node misses many others.
    std::set<NodeId> by_degree() const {
        std::map<NodeId, std::set<NodeId>> left;
        for (const Pair& cut : cuts_) {
            left[cut.low].insert(cut.high);
            left[cut.high].insert(cut.low);
        }
        const auto rank = [&](const auto& entry) {
            return std::tuple(entry.second.size(), ~uint64_t{workers_of(entry.first)}, entry.first);
        };
        std::set<NodeId> chosen;
        while (!left.empty()) {
            const auto most =
                std::max_element(left.begin(), left.end(),
                                 [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
            if (most->second.empty()) break;
            for (const NodeId other : most->second) left.at(other).erase(most->first);
            chosen.insert(most->first);
            left.erase(most);
        }
        return chosen;
    }

    // One end of each cut must go: tries both.
    void extend(const std::set<NodeId>& chosen) {
        looks_ += cuts_.size();
        if (looks_ > kLooksMax || cost(chosen) >= cost(best_)) return;
        const Pair* cut = first_uncovered(chosen);
        if (cut == nullptr) {
            best_ = chosen;
            return;
        }
        for (const NodeId node : {cut->high, cut->low}) {
            std::set<NodeId> more = chosen;
            more.insert(node);
            extend(more);
        }
    }

    std::vector<Pair> cuts_;
    const std::map<NodeId, uint32_t>& workers_;
    std::set<NodeId> best_;
    size_t looks_ = 0;
};

}  // namespace

std::vector<NodeId> fewest_to_leave(std::span<const Pair> cuts,
                                    const std::map<NodeId, uint32_t>& workers) {
    const std::set<NodeId> nodes = Search(cuts, workers).run();
    return {nodes.begin(), nodes.end()};
}

}  // namespace pace::controller
