// TrainerSession: what the trainers that go on until they are told do with their session alike, whatever their gradients are.
#pragma once

#include <cstdint>
#include <vector>

#include "capi/testing/asked_session.h"
#include "pace.h"
#include "trainer_options.h"

namespace pace::cluster {

class TrainerSession {
  protected:
    explicit TrainerSession(TrainerOptions options) : options_(std::move(options)) {}

    // Of the collective family, as the flags say.
    AskedSession job_options() const;
    bool create_buffer(int32_t type, uint64_t count, pace_buffer& buffer, void*& ret_memory);
    // Everyone starts from rank 0's model; a newcomer from a healthy worker's. step_ is the next one then.
    bool broadcast_model();
    // Whether the daemon is another one than when the model was taken: it has died meanwhile, without a request in flight.
    bool is_daemon_new();
    // Waits for the request; info_ and members_ tell of it.
    pace_status finish(pace_request request);
    // Prints a status that is not PACE_OK, and gives it back.
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
