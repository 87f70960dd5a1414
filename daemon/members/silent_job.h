// SilentJob: a job's port for tests of one of its parts: there are no other parts.
#pragma once

#include "daemon/members/job_port.h"

namespace pace::daemon {

class SilentJob : public JobPort {
  public:
    void advance(const WorkerPtr& /*worker*/) override {}
    void group_begins(const std::vector<NodeId>& /*nodes*/) override {}
    Scratch round_memory() override { return {}; }
    std::optional<uint64_t> model_round(const Worker& /*worker*/) override { return {}; }
    void adopted(const Worker& /*newcomer*/, uint64_t /*round*/) override {}
    void departed(const Worker& /*worker*/) override {}
    std::shared_ptr<Scratch> place_for_model(const std::vector<BufferPtr>& /*buffers*/) override {
        return nullptr;
    }
    void broadcasted(uint64_t /*round*/, const std::vector<BufferPtr>& /*buffers*/,
                     const std::shared_ptr<Scratch>& /*copy*/) override {}
    void before_server_report(const std::function<void()>& then) override { then(); }
    control::ServerReport server_report() override { return {}; }
};

}  // namespace pace::daemon
