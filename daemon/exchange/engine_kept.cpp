// Engine: what is kept of trainers that died, for their successors, and who pays for buffers.
#include <utility>

#include "daemon/exchange/engine.h"

namespace pace::daemon {

using base::Result;

Orphanage::Key Engine::key_of(const Seat& seat) {
    return {seat.worker->uid, seat.job->state().token, seat.worker->rank};
}

void Engine::bury(const Seat& seat, std::vector<BufferPtr> buffers) {
    orphanage_.keep(key_of(seat), std::move(buffers), seat.worker->iteration, base::now());
    sweep_orphanage();
    remove(seat);
    tell_leave(*seat.job, seat.worker->rank, false);
    tell_owing(*seat.job);
}

BufferPtr Engine::inherit(const Seat& seat, protocol::DType dtype, uint64_t count,
                          const device::Device* device) {
    return orphanage_.take(key_of(seat), dtype, count, device, base::now());
}

Result<Charge> Engine::charge_buffer(uint32_t user, uint64_t bytes, uint32_t descriptors) {
    const Amount amount{.bytes = bytes, .buffers = 1, .descriptors = descriptors};
    auto charge = services_.accounts->charge(user, amount, "a buffer");
    while (!charge && give_up_kept(user, bytes))
        charge = services_.accounts->charge(user, amount, "a buffer");
    return charge;
}

// False: there is nothing that would help.
bool Engine::give_up_kept(uint32_t user, uint64_t bytes) {
    if (orphanage_.drop_oldest(user)) return true;
    const Accounts& accounts = *services_.accounts;
    const uint64_t most = accounts.limits().memory_max;
    const bool all_have_too_much = most != 0 && accounts.bytes_used() + bytes > most;
    return all_have_too_much && orphanage_.drop_oldest(std::nullopt);
}

// What has been kept for too long goes when it is due, and not when somebody looks.
void Engine::sweep_orphanage() {
    orphanage_.drop_expired(base::now());
    const auto due = orphanage_.next_expiry();
    if (due) sweeping_ = services_.loop.run_at(*due, [this] { sweep_orphanage(); });
}

}  // namespace pace::daemon
