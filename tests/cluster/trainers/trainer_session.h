// TrainerSession: the session handling that is common to the trainers that go on until they are
// told to stop. It does not depend on their gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "capi/testing/asked_session.h"
#include "pace.h"
#include "tests/cluster/trainers/trainer_options.h"

namespace pace::cluster {

class TrainerSession {
  protected:
    explicit TrainerSession(TrainerOptions options) : options_(std::move(options)) {}

    // Returns the options of the collective family, as the flags say.
    AskedSession job_options() const;
    bool create_buffer(int32_t type, uint64_t count, pace_buffer& buffer, void*& ret_memory);
    // Every worker starts from rank 0's model. A newcomer starts from a healthy worker's model.
    // step_ is then the next step.
    bool broadcast_model();
    // Returns whether the daemon is another one than when the model was taken. The former daemon
    // has then died without a request in flight.
    bool is_daemon_new();
    // Waits for the request. info_ and members_ then describe it.
    pace_status finish(pace_request request);
    // Prints a status that is not PACE_OK, and returns the status.
    pace_status outcome(pace_status status) const;

    TrainerOptions options_;
    pace_session* session_ = nullptr;
    pace_error error_{};
    pace_buffer model_buffer_{};
    pace_request_info info_ = PACE_REQUEST_INFO_INIT;
    std::vector<pace_member> members_;
    uint64_t step_ = 0;
    bool wrong_ = false;

  private:
    uint64_t generation();

    uint64_t generation_ = 0;
};

}  // namespace pace::cluster
