// RoundPort: what the parts of Rounds tell it.
#pragma once

namespace pace::daemon {

class RoundPort {
  public:
    // What held the next round up may have ended: the round begins if it may.
    virtual void try_start() = 0;
    // A round has ended well, or is to be redone. If rounds are stopped, the controller is
    // answered. In a job of partial rounds the next round begins.
    virtual void go_on() = 0;
    // Only another view recovers from what has failed here. No round begins before that.
    virtual void wait_for_view() = 0;

  protected:
    ~RoundPort() = default;
};

}  // namespace pace::daemon
