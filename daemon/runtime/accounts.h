// Accounts: what each user has this daemon keep, within limits from the settings.
//
// Code that makes something whose size a client or peer chooses charges that size first, to the
// user for whom it is made. It keeps the Charge beside the memory that the charge pays for. The
// charge lasts as long as that memory, wherever the memory is kept, and whether or not its trainer
// lives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace pace::daemon {

struct AccountLimits {
    uint64_t user_bytes_max = 0;  // 0: no limit
    uint32_t user_buffers_max = 16384;
    uint32_t user_clients_max = 256;
    uint64_t memory_max = 0;  // of all users together; 0: no limit
};

struct Amount {
    uint64_t bytes = 0;
    uint32_t buffers = 0;
    uint32_t clients = 0;      // connections
    uint32_t descriptors = 0;  // open files of this process
    bool operator==(const Amount&) const = default;
};

class Accounts;

// Charge: empty, or an amount that its user is charged until the Charge is destroyed. Any thread
// may destroy one.
class Charge {
  public:
    Charge() = default;
    Charge(Charge&& other) noexcept
        : accounts_(std::move(other.accounts_)), user_(other.user_), amount_(other.amount_) {}
    Charge& operator=(Charge&& other) noexcept {
        std::swap(accounts_, other.accounts_);
        std::swap(user_, other.user_);
        std::swap(amount_, other.amount_);
        return *this;
    }
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    ~Charge();

    uint64_t bytes() const { return accounts_ ? amount_.bytes : 0; }

  private:
    friend class Accounts;
    Charge(std::shared_ptr<Accounts> accounts, uint32_t user, Amount amount)
        : accounts_(std::move(accounts)), user_(user), amount_(amount) {}

    std::shared_ptr<Accounts> accounts_;
    uint32_t user_ = 0;
    Amount amount_;
};

class Accounts : public std::enable_shared_from_this<Accounts> {
  public:
    static std::shared_ptr<Accounts> create(const AccountLimits& limits = {}) {
        return std::shared_ptr<Accounts>(new Accounts(limits));
    }

    // Charges `amount`. If that would pass a limit: ErrorKind::limit, and nothing is charged. The
    // error names the limit and what was wanted (`what`: "a buffer"). Any thread.
    base::Result<Charge> charge(uint32_t user, Amount amount, std::string_view what);
    // Charges bytes without checking any limit: for memory that others rely on and that is at most
    // a few times as large as something charged before. Later charges are refused instead. Any
    // thread.
    Charge count(uint32_t user, uint64_t bytes);
    // Whether a user without other charges could be charged this many bytes.
    base::Result<> check_possible(uint64_t bytes, std::string_view what) const;

    // All clients together may have this many descriptors. The others are kept for peers, whose
    // transport fails for good if it finds none. 0: no limit.
    void set_descriptors_max(uint32_t most);

    Amount used_by(uint32_t user) const;
    uint64_t bytes_used() const;
    // All users with a charge.
    std::map<uint32_t, Amount> users() const;
    const AccountLimits& limits() const { return limits_; }

  private:
    friend class Charge;
    explicit Accounts(const AccountLimits& limits) : limits_(limits) {}
    base::Result<> check(uint32_t user, const Amount& used, const Amount& amount,
                         std::string_view what) const;
    Charge add(uint32_t user, const Amount& amount);
    void release(uint32_t user, const Amount& amount);

    const AccountLimits limits_;
    mutable std::mutex mutex_;
    std::map<uint32_t, Amount> used_;  // of users with a charge
    uint64_t bytes_used_ = 0;
    uint32_t descriptors_used_ = 0;
    uint32_t descriptors_max_ = 0;
};

// The user who pays, and the accounts that are charged.
struct Payer {
    std::shared_ptr<Accounts> accounts;
    uint32_t user = 0;

    base::Result<Charge> charge(uint64_t bytes, std::string_view what) const {
        return accounts->charge(user, {.bytes = bytes}, what);
    }
    Charge count(uint64_t bytes) const { return accounts->count(user, bytes); }
};

}  // namespace pace::daemon
