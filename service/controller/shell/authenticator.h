// Authenticator: says which CURVE keys may connect (ZeroMQ's ZAP, RFC 27).
//
// The context's input/output thread asks it over inproc:// during each handshake and waits
// without blocking anyone; it answers from the event loop. One per context. Without it, any
// daemon that knows the controller's public key gets in.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "base/event_loop.h"
#include "base/repeated.h"
#include "base/result.h"
#include "service/controller/shell/zmq/socket.h"

namespace pace::controller {

inline constexpr std::string_view kZapDomain = "pace-controller";

class Authenticator final : private base::Poller {
  public:
    // Reads every *.public file of the folder. An unreadable file is an error: leaving it out
    // would lock its daemon out without a word.
    static base::Result<std::unique_ptr<Authenticator>> create(
        base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context,
        const std::string& keys_folder);
    ~Authenticator() override;
    Authenticator(const Authenticator&) = delete;
    Authenticator& operator=(const Authenticator&) = delete;

    size_t keys() const { return allowed_.size(); }
    uint64_t denied() const { return denied_; }

  private:
    Authenticator(base::EventLoop& loop, control_zmq::Socket socket, std::set<std::string> allowed);

    bool poll() override;
    bool arm() override;
    void answer();
    void say_denied(std::string_view address, const std::string& key);

    base::EventLoop& loop_;
    control_zmq::Socket socket_;
    std::set<std::string> allowed_;  // Z85
    control_zmq::Socket::Message message_;
    uint64_t denied_ = 0;
    base::Repeated repeated_;
};

}  // namespace pace::controller
