#include "daemon/runtime/accounts.h"

namespace pace::daemon {

using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

bool passes(uint64_t more, uint64_t used, uint64_t most) {
    return more > most || used > most - more;
}

}  // namespace

Charge::~Charge() {
    if (accounts_) accounts_->release(user_, amount_);
}

Result<Charge> Accounts::charge(uint32_t user, Amount amount, std::string_view what) {
    const std::lock_guard lock(mutex_);
    const auto known = used_.find(user);
    PACE_TRY(check(user, known == used_.end() ? Amount() : known->second, amount, what));
    return add(user, amount);
}

Charge Accounts::count(uint32_t user, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    return add(user, {.bytes = bytes});
}

Charge Accounts::add(uint32_t user, const Amount& amount) {
    Amount& used = used_[user];
    used.bytes += amount.bytes;
    used.buffers += amount.buffers;
    used.clients += amount.clients;
    used.descriptors += amount.descriptors;
    bytes_used_ += amount.bytes;
    descriptors_used_ += amount.descriptors;
    return Charge(shared_from_this(), user, amount);
}

Result<> Accounts::check_possible(uint64_t bytes, std::string_view what) const {
    const auto refuse = [&](uint64_t most, std::string_view setting) {
        return make_error(ErrorKind::limit,
                          "{} takes at least {} bytes of this node, more than the {} that it may "
                          "({}); use less, more nodes, or raise it",
                          what, bytes, most, setting);
    };
    if (limits_.user_bytes_max != 0 && bytes > limits_.user_bytes_max)
        return refuse(limits_.user_bytes_max, "user_bytes_max");
    if (limits_.memory_max != 0 && bytes > limits_.memory_max)
        return refuse(limits_.memory_max, "memory_max");
    return {};
}

Result<> Accounts::check(uint32_t user, const Amount& used, const Amount& amount,
                         std::string_view what) const {
    if (passes(amount.clients, used.clients, limits_.user_clients_max))
        return make_error(ErrorKind::limit,
                          "user {} has {} connections to this daemon, the limit of one user "
                          "(user_clients_max); close some or raise it",
                          user, used.clients);
    if (descriptors_max_ != 0 && passes(amount.descriptors, descriptors_used_, descriptors_max_))
        return make_error(ErrorKind::limit,
                          "clients have {} of this daemon's open files, and the others are kept "
                          "for other daemons; close connections, free buffers, or raise the limit "
                          "of open files (LimitNOFILE of its unit, ulimit -n)",
                          descriptors_used_);
    if (passes(amount.buffers, used.buffers, limits_.user_buffers_max))
        return make_error(ErrorKind::limit,
                          "user {} has {} buffers in this daemon, the limit of one user "
                          "(user_buffers_max); free some or raise it",
                          user, used.buffers);
    if (limits_.user_bytes_max != 0 && passes(amount.bytes, used.bytes, limits_.user_bytes_max))
        return make_error(ErrorKind::limit,
                          "{} of {} bytes would pass the limit of {} bytes of one user on this "
                          "node (user_bytes_max; user {} has {} in use); free some or raise it",
                          what, amount.bytes, limits_.user_bytes_max, user, used.bytes);
    if (limits_.memory_max != 0 && passes(amount.bytes, bytes_used_, limits_.memory_max))
        return make_error(ErrorKind::limit,
                          "{} of {} bytes would pass the daemon's limit of {} bytes for all users "
                          "(memory_max; {} in use)",
                          what, amount.bytes, limits_.memory_max, bytes_used_);
    return {};
}

void Accounts::release(uint32_t user, const Amount& amount) {
    const std::lock_guard lock(mutex_);
    const auto found = used_.find(user);
    Amount& used = found->second;
    used.bytes -= amount.bytes;
    used.buffers -= amount.buffers;
    used.clients -= amount.clients;
    used.descriptors -= amount.descriptors;
    bytes_used_ -= amount.bytes;
    descriptors_used_ -= amount.descriptors;
    if (used == Amount()) used_.erase(found);
}

void Accounts::set_descriptors_max(uint32_t most) {
    const std::lock_guard lock(mutex_);
    descriptors_max_ = most;
}

Amount Accounts::used_by(uint32_t user) const {
    const std::lock_guard lock(mutex_);
    const auto found = used_.find(user);
    return found == used_.end() ? Amount() : found->second;
}

std::map<uint32_t, Amount> Accounts::users() const {
    const std::lock_guard lock(mutex_);
    return used_;
}

uint64_t Accounts::bytes_used() const {
    const std::lock_guard lock(mutex_);
    return bytes_used_;
}

}  // namespace pace::daemon
