// Door: who may connect to the controller's socket, and with which rights. It holds the keys that
// may connect now, reads them again when their files change, and logs who was kept out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/loop/event_loop.h"
#include "base/repeated.h"
#include "service/controller/keys/allowed_keys.h"
#include "service/controller/keys/key_watch.h"
#include "service/controller/keys/rights.h"
#include "service/controller/shell/door/authenticator.h"
#include "service/controller/shell/door/doorkeeper.h"
#include "service/controller/shell/settings/controller_config.h"
#include "service/controller/zmq/socket.h"

namespace pace::controller {

class Door final : private Rights {
  public:
    // `changed` is called in the loop's thread when the rights have changed.
    Door(base::EventLoop& loop, const ControllerConfig& config, std::function<void()> changed);
    ~Door() override;
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;

    // Reads the controller's key and the keys of the nodes, and has the socket ask for them. Call
    // before the socket is bound. The socket must outlive the door. Errors: a key, or a file with
    // users, that cannot be used: skipping the file would lock its daemon out silently.
    base::Result<> open(std::shared_ptr<control_zmq::Context> context, control_zmq::Socket& socket);

    // The rights that hold now. Without a list of keys everybody may do everything.
    const Rights& rights() const { return *this; }

    // A message has come. False if its sender may say nothing here: then the connection is closed.
    // Without a list of keys, that is a user of this machine other than this process's and root.
    bool hears(const control_zmq::Socket::Message& message);

    // Logs what has happened to connections since the last call.
    void look();

  private:
    std::optional<base::Error> refusal(std::string_view key) const override;
    std::optional<base::Error> refusal_of_name(std::string_view key,
                                               std::string_view name) const override;
    bool may_bring(std::string_view key, uint32_t uid) const override;

    const Rights& now() const { return keys_ ? *keys_ : Rights::of_everyone(); }
    base::Result<> read_keys(std::shared_ptr<control_zmq::Context> context);
    void keys_changed(const base::Result<KeyWatch::Keys>& read);
    void close_without_right();
    bool is_friend(const control_zmq::Socket::Message& message);

    base::EventLoop& loop_;
    const ControllerConfig& config_;
    std::function<void()> changed_;
    Doorkeeper doorkeeper_;
    control_zmq::Socket* socket_ = nullptr;
    KeyWatch::Keys keys_;  // null: no list
    std::unique_ptr<Authenticator> authenticator_;
    std::unique_ptr<KeyWatch> key_watch_;
    // The key that each connection, by its descriptor, has spoken with. One entry for each
    // descriptor of this process at most.
    std::unordered_map<int, std::string> speakers_;
    // Without a list of keys: the sockets on loopback, by the kernel's cookie for each, of users
    // who may talk.
    std::unordered_map<int, uint64_t> friends_;
    base::Repeated repeated_;
};

}  // namespace pace::controller
