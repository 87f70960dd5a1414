// TlsDoor: the connections that others open, until they have proven who they are.
//
// Whoever reaches the port can open connections. They are bounded in number, in all and from one
// source, and each has a time to prove itself and a number of bytes (TlsConnection). A source that
// opens too many loses its own oldest one. If there are too many in all, the oldest of all is lost.
// Those that have named a key of this node are lost last. A flood from one source therefore keeps
// no other source out.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "transports/tls/session/tls_context.h"
#include "transports/tls/stranger_reports.h"
#include "transports/tls/wire/frames.h"
#include "transports/tls/wire/readiness.h"
#include "transports/tls/wire/sockets.h"
#include "transports/tls/wire/tls_options.h"

namespace pace::transports::tls {

class TlsDoor {
  public:
    TlsDoor(Readiness& readiness, TlsContext& context, const InstanceId& instance,
            StrangerReports& reports, const TlsOptions& options);
    ~TlsDoor();
    TlsDoor(const TlsDoor&) = delete;
    TlsDoor& operator=(const TlsDoor&) = delete;

    base::Result<> open(std::vector<ListeningSocket> listening);

    // Returns false if the token is none of the door's.
    bool on_event(const Readiness::Event& event);

    // A connection whose other side has proven that it is the instance `hello.from`.
    struct Admitted {
        std::unique_ptr<TlsConnection> connection;
        Readiness::Token token = 0;
        Hello hello;
        IpEndpoint source;
    };
    // Accepts connections and takes handshakes further, a bounded number of each. Appends those
    // that are done to `admitted`. Returns true if there was any work.
    bool work(std::vector<Admitted>& admitted);
    // Whether work() has work that no descriptor will tell.
    bool has_work() const { return !ready_.empty(); }

    // Ends connections whose time is over.
    void expire(base::TimePoint now);
    std::optional<base::TimePoint> deadline() const;

    // Tells of a connection that was admitted and is refused for another reason.
    void refuse(const Admitted& admitted, std::string reason);

    size_t strangers() const { return guests_.size(); }

  private:
    struct Guest {
        std::unique_ptr<TlsConnection> connection;
        Readiness::Token token = 0;
        IpEndpoint source;
        base::TimePoint deadline{};
        bool is_authentic = false;
        bool is_ready = false;  // is in `ready_`
        std::array<std::byte, kFrameBytes + kHelloBytes> hello{};
        size_t hello_bytes = 0;
    };
    // The oldest guest is first.
    using Guests = std::list<Guest>;
    struct Listener {
        base::UniqueFd fd;
        Readiness::Token token = 0;
    };
    // An IPv4 address, or an IPv6 network of 64 bits.
    using Source = std::array<std::byte, 9>;
    static Source source_of(const IpEndpoint& endpoint);

    void make_ready(Guest& guest);
    bool accept_some(const Listener& listener);
    void take_in(AcceptedSocket accepted);
    void make_room(const IpEndpoint& source);
    std::optional<Admitted> go_on(Guests::iterator guest);
    std::optional<Admitted> read_hello(Guests::iterator guest);
    std::optional<std::string> wrong_with(const Guest& guest, Hello& hello) const;
    void dismiss(Guests::iterator guest, std::string reason);
    void forget(Guests::iterator guest);
    void rest();

    Readiness& readiness_;
    TlsContext& context_;
    InstanceId instance_;
    StrangerReports& reports_;
    size_t strangers_max_;
    size_t strangers_of_source_max_;
    base::Duration handshake_max_;
    SocketBounds bounds_;
    std::vector<Listener> listeners_;
    // The door accepts nobody until then: there was no descriptor or no memory.
    std::optional<base::TimePoint> rests_until_;
    bool knocked_ = false;
    Guests guests_;
    std::unordered_map<Readiness::Token, Guests::iterator> by_token_;
    std::map<Source, size_t> of_source_;
    // Guests whose connections became ready.
    std::vector<Readiness::Token> ready_;
};

}  // namespace pace::transports::tls
