// What the tests of TlsTransport share: transports, keys, and a Fabric for the conformance suite.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.h"
#include "transports/tls/tls_transport.h"

namespace pace::transports::tls::testing {

inline std::unique_ptr<TlsTransport> make_node(const TlsOptions& options = {}) {
    auto transport = TlsTransport::create(options);
    EXPECT_TRUE(transport) << (transport ? "" : transport.error().message);
    return transport ? std::move(*transport) : nullptr;
}

inline PairKey random_key() {
    PairKey key;
    for (std::byte& byte : key.id) byte = static_cast<std::byte>(base::random_token());
    for (std::byte& byte : key.secret) byte = static_cast<std::byte>(base::random_token());
    return key;
}

inline void share(TlsTransport& a, TlsTransport& b, const PairKey& key) {
    EXPECT_TRUE(a.add_key(b.address(), key));
    EXPECT_TRUE(b.add_key(a.address(), key));
}

// Polls all nodes until `done`, or until a deadline that no test reaches.
template <typename Done>
bool await(const std::vector<TlsTransport*>& nodes, Done done) {
    const base::TimePoint deadline = base::now() + std::chrono::seconds(30);
    while (!done()) {
        bool worked = false;
        for (TlsTransport* node : nodes) worked = node->poll() || worked;
        if (!worked) sched_yield();
        if (base::now() > deadline) return false;
    }
    return true;
}

// Gives each pair of its transports a key, as a controller does.
class Fabric {
  public:
    std::unique_ptr<Transport> create() {
        auto made = std::make_unique<Member>(*members_, make_node());
        for (Member* other : *members_) share(made->inner(), other->inner(), random_key());
        members_->push_back(made.get());
        return made;
    }
    void vanish(std::unique_ptr<Transport>& transport) { transport.reset(); }

  private:
    // A transport that leaves the fabric when it is destroyed.
    class Member final : public Transport {
      public:
        Member(std::vector<Member*>& members, std::unique_ptr<TlsTransport> inner)
            : members_(members), inner_(std::move(inner)) {}
        ~Member() override { std::erase(members_, this); }
        Member(const Member&) = delete;
        Member& operator=(const Member&) = delete;

        TlsTransport& inner() { return *inner_; }

        std::string_view name() const override { return inner_->name(); }
        const Address& address() const override { return inner_->address(); }
        base::Result<PeerId> connect(std::span<const std::byte> address) override {
            return inner_->connect(address);
        }
        void disconnect(PeerId peer) override { inner_->disconnect(peer); }
        void give_up(PeerId peer, const base::Error& error) override {
            inner_->give_up(peer, error);
        }
        void send(PeerId peer, Tag tag, std::span<const std::byte> bytes,
                  Completion completion) override {
            inner_->send(peer, tag, bytes, std::move(completion));
        }
        void receive(PeerId peer, Tag tag, std::span<std::byte> bytes,
                     Completion completion) override {
            inner_->receive(peer, tag, bytes, std::move(completion));
        }
        void close_exchange(uint64_t exchange) override { inner_->close_exchange(exchange); }
        void end() override { inner_->end(); }
        void ping(PeerId peer) override { inner_->ping(peer); }
        base::TimePoint heard(PeerId peer) const override { return inner_->heard(peer); }
        void set_peer_lost_handler(PeerLostHandler handler) override {
            inner_->set_peer_lost_handler(std::move(handler));
        }
        int event_fd() const override { return inner_->event_fd(); }
        Counters counters() const override { return inner_->counters(); }
        bool poll() override { return inner_->poll(); }
        bool arm() override { return inner_->arm(); }

      private:
        std::vector<Member*>& members_;
        std::unique_ptr<TlsTransport> inner_;
    };

    std::unique_ptr<std::vector<Member*>> members_ = std::make_unique<std::vector<Member*>>();
};

}  // namespace pace::transports::tls::testing
