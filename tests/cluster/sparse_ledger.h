// SparseLedger: what the sparse trainers of a job have handed in, as their lines tell, and whether all of it is in the models or
// still owed.
//
// A trainer's last call before its death counts wholly or not at all: it died before it could say. Of workers whose daemon died
// or was excluded nothing is known, so that elements to which they give are not looked at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster.h"

namespace pace::cluster {

class SparseLedger {
  public:
    // `own_debts`: with this compression a node keeps of its own workers' gradients only. With others it keeps what it has cut
    // of sums, in which everybody's are.
    SparseLedger(uint32_t world, uint64_t elements, bool own_debts)
        : world_(world), elements_(elements), own_debts_(own_debts), balance_(elements) {}

    // The trainer is gone: reads all that it has said. `killed` if it was not asked to leave.
    void bury(uint32_t rank, Process& trainer, bool killed);

    // The daemon of these ranks is dead, and what it owed with it, or it is frozen. `survivor` tells in which round they were
    // for the last time.
    void lose(const std::vector<uint32_t>& ranks, Process& survivor, bool debts_die);

    // All trainers finish together: their models are equal, and what was handed in is there or owed. A node that was lost may
    // have died, or was excluded, when others had just committed a round of which it did not know: then what it owed, or still
    // owes, cannot be told, and the models alone are compared.
    void expect_nothing_lost(std::vector<Process>& trainers, const std::vector<uint32_t>& ranks,
                             Cluster& cluster);

  private:
    struct Call {
        uint32_t rank = 0;
        uint64_t step = 0;
    };
    struct Loss {
        std::vector<uint32_t> ranks;
        uint64_t last_round = 0;
        bool debts_die = false;
    };

    bool is_lost(uint32_t rank) const;
    bool is_looked_at(uint64_t element) const;
    std::optional<Call> count(uint32_t rank, const Process& trainer);
    void compare_sums(const Process& trainer);
    void add(const Call& call, double factor);
    void add_values(const std::string& line, double factor);
    bool settle(const Loss& loss, const std::vector<Process>& trainers);
    void compare_models(std::vector<Process>& trainers, const std::vector<uint32_t>& ranks,
                        const Cluster& cluster);
    void expect_whole(std::vector<Process>& trainers, const std::vector<uint32_t>& ranks,
                      const Cluster& cluster);
    bool is_zero() const;
    bool is_explained();
    std::string words() const;

    uint32_t world_;
    uint64_t elements_;
    bool own_debts_;
    std::vector<Call> unsure_;
    std::vector<Loss> losses_;
    std::map<uint64_t, uint64_t> hashes_;   // of the sums, by round
    std::map<uint64_t, uint64_t> members_;  // as a mask, by round
    std::vector<double> balance_;           // models and debts less what was handed in
};

}  // namespace pace::cluster
