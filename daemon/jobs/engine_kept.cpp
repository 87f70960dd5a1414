// Engine: what is kept when trainers are gone, for how long, and who pays. Buffers of dead trainers
// are kept for their successors. What a job without workers has here is kept as long as the
// controller does not say that nobody needs it.
#include <utility>

#include "daemon/control/controller.h"
#include "daemon/jobs/engine.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;

RetainedBuffers::Key Engine::key_of(const Seat& seat) {
    return {seat.worker->uid, seat.job->state().token, seat.worker->rank};
}

void Engine::died(const Seat& seat, std::vector<BufferPtr> buffers) {
    const JobState& state = seat.job->state();
    retained_.keep(key_of(seat), {state.id, state.options.name}, std::move(buffers),
                   seat.worker->iteration, base::now());
    drop_expired_buffers();
    remove(seat);
    tell_leave(*seat.job, seat.worker->rank, false);
    tell_kept(*seat.job);
}

BufferPtr Engine::inherit(const Seat& seat, protocol::DType dtype, uint64_t count,
                          const device::Device* device, const RetainedBuffers::Fits& fits) {
    return retained_.take(key_of(seat), dtype, count, device, base::now(), fits);
}

Result<Charge> Engine::charge_buffer(uint32_t user, const Amount& amount) {
    auto charge = services_.accounts->charge(user, amount, "a buffer");
    while (!charge && give_up_kept(user, amount.bytes))
        charge = services_.accounts->charge(user, amount, "a buffer");
    return charge;
}

// Releases retained buffers to make room. False: there is nothing whose release would help.
bool Engine::give_up_kept(uint32_t user, uint64_t bytes) {
    if (retained_.drop_oldest(user)) return true;
    const Accounts& accounts = *services_.accounts;
    const uint64_t most = accounts.limits().memory_max;
    const bool all_have_too_much = most != 0 && accounts.bytes_used() + bytes > most;
    return all_have_too_much && retained_.drop_oldest(std::nullopt);
}

// Releases what has been kept for too long when it is due, and not at the next look-up.
void Engine::drop_expired_buffers() {
    retained_.drop_expired(base::now());
    const auto due = retained_.next_expiry();
    if (due) sweeping_ = services_.loop.run_at(*due, [this] { drop_expired_buffers(); });
}

// ---------------------------------------------------------------------------- jobs without workers

// Sent at every heartbeat. A controller that was restarted may learn of the job only later; and
// when it said that the job is over, this node may not have heard it.
void Engine::tell_kept(const Job& job) {
    if (!job.unused() && !job.keeps_shards()) return;
    services_.control.send(control::JobKept{.job = job.state().id,
                                            .token = job.state().token,
                                            .model = job.keeps_shards(),
                                            .debts = job.unused() && job.owes()});
}

// Names the jobs of which only retained buffers are left: such a job may have ended while there was
// no controller.
void Engine::tell_retained() {
    for (const auto& [token, of] : retained_.jobs())
        services_.control.send(control::JobKept{.job = of.id, .token = token});
}

void Engine::on(const control::JobEnded& ended) {
    retained_.drop_job(ended.token);
    const bool is_here = jobs_.find(ended.job) != nullptr;
    const auto found = jobs_.find_unused(ended.job, ended.token);
    if (is_here && !found) return;
    const auto error = base::make_error(ErrorKind::aborted, "the job is over");
    if (found) {
        found->invalidate(error);
        found->end_part();
    }
    end_active(ended.job, error);
    jobs_.drop_unused();
}

// The residuals of a node that leaves go on their way without the job. Their taker may have ended
// before it heard of the job's end.
void Engine::end_active(control::JobId id, const base::Error& error) {
    services_.active.each([&](const auto& exchange) {
        if (exchange->job() == id) exchange->abort(error);
    });
}

void Engine::on(const control::PartEnded& ended) {
    const auto found = jobs_.find_unused(ended.job, ended.token);
    if (!found) return;
    found->end_part();
    jobs_.drop_unused();
}

}  // namespace pace::daemon
