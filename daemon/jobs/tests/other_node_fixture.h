// This node's part of a job, and another node's services, without a controller: the test says what
// the controller would say.
#pragma once

#include <memory>
#include <utility>

#include "daemon/control/absent_controller.h"
#include "daemon/gpu/gpu_groups.h"
#include "daemon/jobs/tests/job_fixture.h"

namespace pace::daemon {

// The other node takes no messages before listen() is called.
class WithOtherNode : public JobFixture {
  protected:
    explicit WithOtherNode(Controller* controller = nullptr, Controller* others = nullptr)
        : JobFixture(controller),
          own_other_services_(std::make_unique<Services>(
              *loop_, *other_transport_, other_peers_, pool_, counters_, ExchangeOptions{}, disk_,
              others ? *others : other_controller_, other_gpu_groups_)),
          other_services_(*own_other_services_) {
        (void)peers_.know(kOther, "other", other_transport_->address());
        (void)other_peers_.know(kSelf, "self", transport_->address());
        other_services_.self = kOther;
    }
    ~WithOtherNode() override {
        if (listens_) loop_->remove_poller(other_transport_.get());
    }

    void listen() {
        if (!std::exchange(listens_, true)) loop_->add_poller(other_transport_.get());
    }

    std::unique_ptr<transports::MemoryTransport> other_transport_ = network_.create();
    Peers other_peers_{*other_transport_};
    AbsentController other_controller_;
    GpuGroups other_gpu_groups_{*loop_, 0};
    const std::unique_ptr<Services> own_other_services_;
    Services& other_services_;
    TestPort other_port_;

  private:
    bool listens_ = false;
};

}  // namespace pace::daemon
