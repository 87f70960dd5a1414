// Authenticator: decides which CURVE keys may connect (ZeroMQ's ZAP, RFC 27).
//
// The context's I/O thread asks it over inproc:// during each handshake, and waits without blocking
// other connections. The answer comes from the event loop. There is one authenticator per context.
// Without one, any daemon that knows the controller's public key is accepted.
#pragma once

#include <memory>
#include <string>

#include "base/loop/event_loop.h"
#include "base/repeated.h"
#include "base/result.h"
#include "service/controller/keys/rights.h"
#include "service/controller/zmq/socket.h"

namespace pace::controller {

inline constexpr std::string_view kZapDomain = "pace-controller";

class Authenticator final : private base::Poller {
  public:
    // `rights` outlive the authenticator, and may change meanwhile.
    static base::Result<std::unique_ptr<Authenticator>> create(
        base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context, const Rights& rights);
    ~Authenticator() override;
    Authenticator(const Authenticator&) = delete;
    Authenticator& operator=(const Authenticator&) = delete;

    uint64_t denied() const { return denied_; }

  private:
    Authenticator(base::EventLoop& loop, control_zmq::Socket socket, const Rights& rights);

    bool poll() override;
    bool arm() override;
    void answer();
    void say_denied(std::string_view address, const std::string& key, const std::string& because);

    base::EventLoop& loop_;
    control_zmq::Socket socket_;
    const Rights& rights_;
    control_zmq::Socket::Message message_;
    uint64_t denied_ = 0;
    base::Repeated repeated_;
};

}  // namespace pace::controller
