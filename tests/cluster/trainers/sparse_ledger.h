// SparseLedger: the contributions of a job's sparse trainers, according to their lines. It checks
// whether all of them are in the models or in residuals.
//
// A trainer's last call before its death counts wholly or not at all, because the trainer died
// before it could print the outcome. Nothing is known of workers whose daemon died or was excluded.
// So the ledger does not look at elements to which these workers contribute.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/cluster/harness/cluster.h"

namespace pace::cluster {

class SparseLedger {
  public:
    // `own_debts` tells that with this compression a node keeps residuals of its own workers'
    // gradients only. With other compressions a node keeps what it has cut of sums, which contain
    // all workers' gradients.
    SparseLedger(uint32_t world, uint64_t elements, bool own_debts)
        : world_(world), elements_(elements), own_debts_(own_debts), balance_(elements) {}

    // The trainer is gone. Reads all lines that it has printed. `killed` means that it was not
    // asked to leave.
    void bury(uint32_t rank, Process& trainer, bool killed);

    // The daemon of these ranks is dead, together with its residual, or the daemon is frozen.
    // `survivor` tells which round was their last.
    void lose(const std::vector<uint32_t>& ranks, Process& survivor, bool debts_die);

    // All trainers finish together. Their models are equal, and contributions are in the models or
    // in residuals. A node may have been lost just when others had committed a round that the node
    // did not know. Then its residual is unknown, and only the models are compared.
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
    // The models and residuals less the contributions.
    std::vector<double> balance_;
};

}  // namespace pace::cluster
