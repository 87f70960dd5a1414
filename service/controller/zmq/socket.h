// Socket: one ZeroMQ socket that never blocks, as an event loop's poller needs it.
//
// The descriptor signals once that *something* happened (ZMQ_FD is edge-triggered). Call readable()
// until it returns false, and again after every send, since a send may consume the edge. A poller
// therefore drains in poll() and returns !readable() from arm().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/controller/zmq/context.h"
#include "service/controller/zmq/curve_keys.h"
#include "service/controller/zmq/monitor.h"

namespace pace::control_zmq {

enum class SocketType { router, dealer };

enum class Sent {
    done,
    gone,  // router: no such peer; dealer: not connected, or the peer does not read
    full,  // router: the peer does not read
};

class Socket {
  public:
    // Bounds on the messages queued in memory for one peer; 0 is no bound. When send_max is
    // reached, a message is not sent. When receive_max is reached, the peer has to wait.
    struct Queues {
        int send_max = 0;
        int receive_max = 0;
    };
    // `bytes_max`: a peer that sends a longer frame is disconnected. A peer is also disconnected if
    // it is unreachable, or does not read, while bytes for it have been under way for kUnmovedMs.
    static base::Result<Socket> create(std::shared_ptr<Context> context, SocketType type,
                                       size_t bytes_max, Queues queues);
    // Longer than the two seconds of silence after which, by default, both ends give the attachment
    // up.
    static constexpr int kUnmovedMs = 4000;
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    ~Socket();

    // Call before bind or connect. Only peers that know the public key are accepted.
    base::Result<> serve_curve(const SecretKey& secret);
    // Call before connect. Proves the key `own` and expects the server to have the key `server`.
    base::Result<> use_curve(const PublicKey& server, const SecretKey& own);
    // Call before bind. Sets the domain in requests to an authenticator.
    base::Result<> set_zap_domain(std::string_view domain);

    base::Result<> bind(const std::string& endpoint);
    base::Result<> connect(const std::string& endpoint);

    // Call before bind or connect. Monitors the connections from now on.
    base::Result<> watch_connections();
    // Null unless connections are monitored.
    Monitor* monitor() const { return monitor_.get(); }

    // The endpoint bound last, with the port that the system chose.
    std::string last_endpoint() const;

    // How long close() tries to deliver queued messages; 0 by default.
    void set_linger_ms(int milliseconds);

    int fd() const { return fd_; }
    bool valid() const { return handle_ != nullptr; }
    bool readable() const;
    bool writable() const;

    // One whole message, copied: frames[0 .. count). The frames keep their memory from message to
    // message. receive() returns false if there is none.
    struct Message {
        std::vector<std::vector<std::byte>> frames;
        size_t count = 0;
        std::string peer;     // address of the sender; empty over inproc
        std::string key;      // the sender's key, as the authenticator named it; empty without one
        int descriptor = -1;  // ZeroMQ's, of the connection; -1: not known
    };
    bool receive(Message& ret_message);

    Sent send(std::span<const std::byte> frame);
    Sent send(std::string_view route, std::span<const std::byte> frame);
    Sent send_all(std::span<const std::span<const std::byte>> frames);

  private:
    Socket(std::shared_ptr<Context> context, void* handle);
    bool has_event(int event) const;
    base::Result<> set(int option, const void* value, size_t bytes, const char* what);
    base::Result<> set(int option, int value, const char* what);
    Sent send_frame(std::span<const std::byte> frame, int flags);
    void close();

    std::shared_ptr<Context> context_;
    void* handle_ = nullptr;
    int fd_ = -1;
    std::unique_ptr<Monitor> monitor_;
};

}  // namespace pace::control_zmq
