// Compression: how a job's reductions travel: as they are, as halves, or as the greatest elements
// alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/exchange/exchange.h"
#include "daemon/families/rounds/residuals.h"
#include "daemon/families/rounds/round_port.h"
#include "daemon/members/job_state.h"

namespace pace::daemon {

// The type as which elements of larger types travel; none: as they are, or the greatest alone.
constexpr std::optional<protocol::DType> half_of(control::Compression compression) {
    if (compression == control::Compression::f16) return protocol::DType::f16;
    if (compression == control::Compression::bf16) return protocol::DType::bf16;
    return std::nullopt;
}

class Compression {
  public:
    // `port` is for the residuals.
    Compression(JobState& job, RoundPort& port) : job_(job), residuals_(job, port) {}

    // What top-k has left out.
    Residuals& residuals() { return residuals_; }
    const Residuals& residuals() const { return residuals_; }

    // Writes to `plan`, which is a reduction's, how it travels, and lends it residuals. False: it
    // cannot begin before RoundPort::try_start() is called. ErrorKind::invalid if the options do
    // not fit the plan's nodes or buffers.
    base::Result<bool> choose(Exchange::Plan& plan, const std::vector<WorkerPtr>& members);
    // The exchange's round has committed, or its result is lost on this node alone: the residual
    // that it left counts.
    void committed(const ExchangePlan& plan);

  private:
    base::Result<sparse::Options> options_for(size_t participants, bool all_here) const;
    bool goes_dense(size_t participants, size_t count, const sparse::Options& options);

    JobState& job_;
    Residuals residuals_;
    std::string last_reason_;  // the logged reason for dense or sparse
};

}  // namespace pace::daemon
