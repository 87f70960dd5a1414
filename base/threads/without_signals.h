// WithoutSignals: blocks all signals of the calling thread while it lives. A thread that is begun
// meanwhile inherits that, so it takes no signals of the host program.
#pragma once

#include <pthread.h>

#include <csignal>

namespace pace::base {

class WithoutSignals {
  public:
    WithoutSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    WithoutSignals(const WithoutSignals&) = delete;
    WithoutSignals& operator=(const WithoutSignals&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace pace::base
