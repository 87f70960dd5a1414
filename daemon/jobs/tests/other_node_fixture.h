// This node's part of a job, and another node's services, without a controller: the test says what
// the controller would say.
#pragma once

#include <memory>
#include <utility>

#include "daemon/jobs/tests/job_fixture.h"

namespace pace::daemon {

// The other node takes no messages before listen() is called.
class WithOtherNode : public JobFixture {
  protected:
    WithOtherNode() {
        (void)peers_.know(kOther, "other", other_transport_->address());
        (void)other_peers_.know(kSelf, "self", transport_->address());
        other_services_.self = kOther;
        other_services_.control = &other_controller_;
    }
    ~WithOtherNode() override {
        if (listens_) loop_->remove_poller(other_transport_.get());
    }

    void listen() {
        if (!std::exchange(listens_, true)) loop_->add_poller(other_transport_.get());
    }

    std::unique_ptr<transports::MemoryTransport> other_transport_ = network_.create();
    Peers other_peers_{*other_transport_};
    const std::unique_ptr<Services> own_other_services_ = std::make_unique<Services>(
        *loop_, *other_transport_, other_peers_, pool_, counters_, ExchangeOptions{}, disk_);
    Services& other_services_ = *own_other_services_;
    AbsentController other_controller_;
    TestPort other_port_;

  private:
    bool listens_ = false;
};

}  // namespace pace::daemon
