// Compression: the links of a view, by which some of its options are chosen.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/exchange/compression.h"
#include "daemon/exchange/digest.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

bool Compression::needs_links() const {
    const control::JobOptions& options = job_.options;
    const bool chooses_teams =
        options.compression == control::Compression::spardl && options.teams == 0;
    const bool chooses_dense = options.dense_fallback != control::DenseFallback::never;
    return is_top_k() && (chooses_teams || chooses_dense);
}

void Compression::measure_links() {
    if (!needs_links()) return;
    Exchange::Plan plan;
    plan.kind = Exchange::Kind::probe;
    plan.job = job_.id;
    plan.what = "measuring links";
    plan.nodes = job_.view.nodes();
    plan.number = exchange_number(job_.token, ExchangeKind::probe, job_.view.epoch, 0);
    const auto self = std::find(plan.nodes.begin(), plan.nodes.end(), job_.services.self);
    if (plan.nodes.size() <= 1 || self == plan.nodes.end()) {
        measured_epoch_ = job_.view.epoch;
        return;
    }
    plan.self = static_cast<size_t>(self - plan.nodes.begin());
    auto probe = Exchange::start(
        job_.services, std::move(plan), {},
        job_.scope.bind([this, epoch = job_.view.epoch](Exchange& done, const Result<>& result) {
            // One of an earlier view may end when the next has begun.
            if (probe_.get() == &done) probe_.reset();
            if (epoch == job_.view.epoch) measured(result, done.link());
        }));
    if (!probe->ended()) probe_ = std::move(probe);
}

void Compression::measured(const Result<>& result, const sparse::Link& link) {
    if (!result) {
        // No round begins before the links are measured: the next view does. It is on its way if this one was stopped for it.
        if (result.error().kind == ErrorKind::aborted) return;
        base::log_warning("links could not be measured; another view is asked for",
                          {{"job", job_.options.name},
                           {"nodes", job_.services.peers.names(job_.view.nodes())},
                           {"reason", result.error().message}});
        job_.wants_view = true;
        return;
    }
    link_ = link;
    measured_epoch_ = job_.view.epoch;
    base::log_info("links measured",
                   {{"job", job_.options.name},
                    {"latency_us", fmt::format("{:.1f}", link.alpha_s * 1e6)},
                    {"mb_per_s", fmt::format("{:.0f}", 1e-6 / link.beta_s_per_byte)}});
    ready_();
}

}  // namespace pace::daemon
