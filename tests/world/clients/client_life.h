// ClientLife: the program of a trainer's process, as a user writes it with libpace: it opens a
// session, takes the model by a broadcast, and makes its calls, whatever happens to its daemon. It
// checks what libpace promises of each call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "libclient/session/session.h"
#include "tests/world/ledger.h"
#include "tests/world/program.h"

namespace pace::world {

// What a life is doing, for a report.
struct ClientActivity {
    std::string text;
    base::TimePoint since;
    std::string last_error;
    bool in_call = false;  // it waits for a request
};

class ClientLifePort {
  public:
    virtual ~ClientLifePort() = default;
    // Whether the process was told to leave its job and to end.
    virtual bool is_to_leave() const = 0;
    // Whether the call in flight is to be canceled.
    virtual bool takes_cancel() = 0;
    virtual bool may_lose_places() const = 0;
    // How often the process, or its machine, has stood still.
    virtual uint64_t stops() const = 0;
    virtual void has_made_step() = 0;
};

class ClientLife {
  public:
    ClientLife(ClientLifePort& port, Ledger& ledger, ClientActivity& activity,
               const protocol::JobOptions& job, uint32_t rank, std::string name,
               const std::string& socket, uint64_t seed);

    // Returns when the process has left.
    void run();
    size_t model_bytes() { return program_->model().size_bytes(); }

  private:
    // One of the session's buffers, and the memory where the trainer has its contents.
    struct Memory {
        client::BufferHandle handle;
        std::vector<float> own;  // the buffer is a copy of this, if it is not empty
        float* data = nullptr;
        size_t count = 0;
        std::vector<float> left;  // what the last call has left there; empty: no call has
        std::span<float> values() { return {data, count}; }
    };

    void begin();
    void open();
    void refused(const base::Error& error);
    bool make_memory();
    bool make(std::optional<Memory>& memory, size_t count, bool is_staged);
    void free_gradient();
    void compute();
    void call();
    std::optional<client::RequestHandle> submit(const daemon::Request& request);
    bool await(client::RequestHandle handle, client::RequestEnd& ret_end);
    void check_ended_once(client::RequestHandle handle);
    void check_untouched(Memory& memory);
    void check_as_called(const char* what);
    void ended(const client::RequestEnd& end);
    void done(const client::RequestEnd& end);
    void failed(const client::RequestEnd& end);
    void gone(const client::RequestEnd& end);
    void has_result(const daemon::Ending& ending, bool is_told);
    void leave();
    void rest(base::Duration length);
    void say(std::string text);
    Self self() const;
    Memory& called() { return is_on_model_ ? *model_ : *gradient_; }
    // The call that began then must have ended within this time, unless the process stood still.
    void expect_within(const char* what, base::TimePoint began, uint64_t stops,
                       base::Duration within);

    ClientLifePort& port_;
    Ledger& ledger_;
    ClientActivity& activity_;
    const protocol::JobOptions& job_;
    const uint32_t rank_;
    const std::string name_;
    const client::Endpoint endpoint_;
    base::Random random_;

    std::unique_ptr<Program> program_;
    base::Duration step_takes_{};
    base::Duration connect_{};
    bool is_staged_ = false;  // some of its buffers are copies of its own memory
    bool polls_ = false;      // it waits on the session's descriptor
    std::optional<Memory> model_;
    std::optional<Memory> gradient_;
    std::unique_ptr<client::Session> session_;
    std::vector<protocol::MemberEntry> room_;

    uint64_t step_ = 0;
    uint64_t rounds_ = 0;
    bool computes_ = false;    // before the next call
    bool broadcasts_ = true;   // the call that is made or repeated is a broadcast
    bool is_on_model_ = true;  // the call's buffer is the model's
    std::vector<float> given_;
    base::TimePoint called_at_{};
};

}  // namespace pace::world
