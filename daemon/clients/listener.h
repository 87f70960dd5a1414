// Listener: the Unix socket on which trainers and tools connect.
#pragma once

#include <functional>
#include <string>

#include "base/loop/event_loop.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::daemon {

class Listener {
  public:
    // Listens at `path`, for members of `group` if that group exists (mode 0660), else for the
    // daemon's user and root. Replaces a socket left by a dead daemon. Error: taken, if another
    // daemon serves the path. `accepted` gets each connection.
    static base::Result<std::unique_ptr<Listener>> create(
        base::EventLoop& loop, std::string path, const std::string& group,
        std::function<void(base::UniqueFd)> accepted);
    // Removes the socket.
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    const std::string& path() const { return path_; }

  private:
    Listener(base::EventLoop& loop, std::string path, base::UniqueFd lock, base::UniqueFd socket,
             std::function<void(base::UniqueFd)> accepted);
    base::Result<> watch();
    void watch_again();
    void accept_one();

    base::EventLoop& loop_;
    std::string path_;
    base::UniqueFd lock_;
    base::UniqueFd socket_;
    // Retries while no client can be accepted.
    base::Timer again_;
    std::function<void(base::UniqueFd)> accepted_;
};

}  // namespace pace::daemon
