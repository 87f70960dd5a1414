// HangupWatch: a thread that calls a function once when the other end of a socket has closed.
//
// It is the only thread of this library, and runs for sessions with buffers on a GPU. While a
// trainer waits for its GPU, in a call of CUDA's, no call of this library can notice that the
// daemon has died.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"

namespace pace::client {

class HangupWatch {
  public:
    // `gone` is called in the thread; it must neither block nor throw. The watch duplicates the
    // socket, so the other end sees no end of this one before the watch has ended. Fails with
    // `memory` if no thread can begin.
    static base::Result<std::unique_ptr<HangupWatch>> start(int socket, std::function<void()> gone);
    // Ends the thread. In a forked child, which has no such thread, it does nothing.
    ~HangupWatch();
    HangupWatch(const HangupWatch&) = delete;
    HangupWatch& operator=(const HangupWatch&) = delete;

  private:
    HangupWatch(base::UniqueFd socket, base::UniqueFd stop);
    void run(const std::function<void()>& gone) const;

    const pid_t process_;
    const base::UniqueFd socket_;
    const base::UniqueFd stop_;
    std::thread thread_;
};

}  // namespace pace::client
