// KeyRing: the keys of the peers, at most two for each. The secrets are cleansed when they leave.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "transports/pair_key.h"
#include "transports/tls/wire/tls_address.h"

namespace pace::transports::tls {

class KeyRing {
  public:
    static constexpr size_t kKeysOfPeerMax = 2;

    // The key is the newest of the instance from now on. Fails with ErrorKind::taken if the id is
    // another key's.
    base::Result<> add(const InstanceId& instance, const PairKey& key);

    // Returns false if the instance had no key.
    bool forget(const InstanceId& instance);

    size_t count(const InstanceId& instance) const;

    // Returns the instance's key that `newer` others are newer than. Null if there is none. The key
    // is valid until the ring changes.
    const PairKey* key(const InstanceId& instance, size_t newer) const;

    struct Found {
        const PairKey* key = nullptr;
        InstanceId instance{};
    };
    // Returns the key with this id and the instance that it belongs to.
    std::optional<Found> find(std::span<const std::byte> id_untrusted) const;

  private:
    // A copy of a key in memory of its own.
    class Held {
      public:
        explicit Held(const PairKey& key) : key_(key) {}
        ~Held();
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;
        const PairKey& key() const { return key_; }

      private:
        PairKey key_;
    };

    void drop(const Held& held);

    // The keys of each instance. The newest key is first.
    std::map<InstanceId, std::deque<std::unique_ptr<Held>>> keys_;
    std::map<std::array<std::byte, 16>, Found> by_id_;
};

}  // namespace pace::transports::tls
