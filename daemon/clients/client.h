// Client: one connection on the Unix socket. A trainer joins one job through it; a tool only asks.
//
//     connected --Hello--> greeted --Join--> joining --(controller)--> seated
//     seated --Leave or death--> closed
//
// An error of a client ends this client and nothing else. Its quota and its ring bound its memory,
// descriptors and requests.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/loop/event_loop.h"
#include "base/repeated.h"
#include "base/threads/turn_thread.h"
#include "daemon/clients/buffer_request.h"
#include "daemon/clients/buffer_table.h"
#include "daemon/clients/device_staging.h"
#include "daemon/clients/order_request.h"
#include "daemon/clients/packet.h"
#include "daemon/clients/process.h"
#include "daemon/clients/quota.h"
#include "daemon/clients/ring_server.h"
#include "daemon/clients/session_blocks.h"
#include "daemon/jobs/engine.h"

namespace pace::daemon {

// State that all clients share.
struct ClientContext {
    base::EventLoop& loop;
    Engine& engine;
    device::Devices& devices;
    std::shared_ptr<Accounts> accounts;
    QuotaLimits limits;
    std::string node;
    uint64_t generation = 0;
    std::function<std::string()> daemon_document;
    // Calls back with the daemon's recent recording, which may be a second old.
    using RecordingMade = std::function<void(const std::string&)>;
    std::function<void(RecordingMade)> recording{};
    // Limits the log lines about refused limits, by user.
    base::Repeated limits_said{};
    // Makes large memory, and memory of GPUs, one piece for each client in turn. The kernel and the
    // driver take seconds for some gigabytes; neither the loop nor another client may wait so long.
    base::TurnThread maker{};
};

class Client final : public WorkerPort {
  public:
    // `closed` is called once, from the loop, when the client has ended; `closed` may destroy the
    // client. `charge` is for the connection.
    Client(ClientContext& context, base::UniqueFd socket, PeerProcess process, Charge charge,
           base::Callback closed);
    ~Client() override;

    // Takes as many of the trainer's submissions as one turn allows. Returns true if there were
    // any.
    bool poll_ring();
    bool arm_ring();
    void disarm_ring();

    // Ends the connection, and tells the client the reason if the socket still works. Does not log
    // an error of kind `closed`: that client has gone already.
    void refuse(const base::Error& error);

    void request_ended(uint64_t id, const Ending& ending) override;
    void request_waits(uint64_t id, const std::string& what) override;
    bool process_stopped() const override;

    // For the daemon's document.
    struct Summary {
        PeerProcess process;
        std::string job;
        uint32_t rank = 0;
        bool seated = false;
        uint64_t bytes = 0;
        uint32_t buffers = 0;
        uint32_t requests = 0;
    };
    Summary summary() const;

  private:
    // A submission in the order of the ring. A submission waits here while the contents of an
    // earlier request's buffers come from a GPU.
    struct Held {
        Note note;
        // Absent for a note.
        std::optional<Request> request;
        bool ready = true;
        base::Result<> landed = {};
    };

    // One piece of a document.
    struct Piece {
        std::vector<std::byte> bytes;
        bool last = false;
        Charge charge;
    };

    void on_socket(uint32_t events);
    void take_packets(uint32_t events);
    bool take_submissions();
    base::Result<> handle(const protocol::client::Packet& packet, std::vector<base::UniqueFd>& fds);
    base::Result<> on_hello(const protocol::client::Hello& hello);
    base::Result<> on_join(const protocol::client::Join& join);
    void on_joined(uint64_t request, base::Result<Seat> seat);
    base::Result<> make_ring(uint32_t member_capacity);
    base::Result<> on_buffer_create(const protocol::client::BufferCreate& create,
                                    std::vector<base::UniqueFd>& fds);
    base::Result<> make_buffer(const protocol::client::BufferCreate& create,
                               std::vector<base::UniqueFd>& fds);
    // What the loop does when a thread has made what `making` has for the request: `answer`, unless
    // this client has gone.
    template <typename Made>
    std::function<void()> when_made(std::map<uint64_t, std::shared_ptr<Made>>& making,
                                    uint64_t request, base::Result<> (Client::*answer)(Made&));
    BufferPtr inherit(const BufferRequest& wanted, const device::Device* device);
    base::Result<> place(NewMemory& memory);
    base::Result<> pay_for(NewMemory& memory);
    void give_up(NewMemory& memory);
    void make_aside(const std::shared_ptr<NewMemory>& memory);
    void make_order_aside(const std::shared_ptr<OrderRequest>& request);
    void do_aside(std::function<bool()> piece, std::function<void()> no_memory,
                  std::function<void()> made);
    base::Result<> order_made(OrderRequest& made);
    base::Result<> memory_made(NewMemory& made);
    base::Result<> answer_with(uint64_t request, const BufferPtr& buffer, bool restored);
    base::Result<> on_buffer_free(const protocol::client::BufferFree& free);
    base::Result<> check_apart() const;
    base::Result<> check_apart(const BufferRequest& wanted, const device::Device& device) const;
    base::Result<> on_device_share(const protocol::client::DeviceShare& share,
                                   std::vector<base::UniqueFd>& fds);
    base::Result<> send_shared(uint64_t request, std::span<const std::byte> events);
    base::Result<> on_leave(const protocol::client::Leave& leave);
    base::Result<> on_cancel(const protocol::client::Cancel& cancel);
    void on_progress(const protocol::client::Progress& progress);
    void cancel_late();
    void ask_for_recording(uint64_t request);
    void ask_for_part(const protocol::client::Query& query);
    base::Result<> on_query(const protocol::client::Query& query);
    base::Result<> on_job_create(const protocol::client::JobCreate& create);
    base::Result<> check_questions() const;
    base::Result<> on_job_delete(const protocol::client::JobDelete& deletion);
    base::Result<> on_node_drain(const protocol::client::NodeDrain& drain);
    base::Result<> send_document(uint64_t request, const std::string& json);
    base::Result<> send_done(uint64_t request);
    base::Result<> send_failed(uint64_t request, const base::Error& error);
    base::Result<> flush();
    void submit(const protocol::SubmissionEntry& entry);
    void stage(Held& held, uint32_t event);
    void came(uint64_t id, const base::Result<>& result);
    void bring(const Held& held);
    void make_twins_aside(const Held& held);
    void twins_made(uint64_t id, const base::Result<>& made);
    Held* find_held(uint64_t id);
    void landed(uint64_t id, const base::Result<>& result);
    void hand_on();
    bool cancel_held(uint64_t id);
    void complete(uint64_t id, const Ending& ending);
    void say_limit(const base::Error& error);
    void close_later();
    void close(bool orderly);
    void say_lost(const Seat& seat) const;

    ClientContext& context_;
    // Shared with the marks of requests: the trainer sees the end of the connection only when
    // nothing writes to its buffers any more.
    std::shared_ptr<base::UniqueFd> socket_;
    PeerProcess process_;
    Charge charge_;
    Charge ring_charge_;
    base::Callback closed_;
    Quota quota_;
    BufferTable buffers_;
    SessionBlocks blocks_;                                            // of `buffers_`
    std::map<uint64_t, std::shared_ptr<NewMemory>> making_;           // by request
    std::map<uint64_t, std::shared_ptr<OrderRequest>> making_order_;  // by request
    DeviceStaging staging_;
    base::Scope scope_;
    std::optional<RingServer> ring_;
    std::deque<Held> held_;
    std::vector<uint64_t> cancels_;  // requests to cancel once the ring is empty
    std::optional<Seat> seat_;
    // Pieces of documents that the socket has no room for yet.
    std::deque<Piece> outbox_;
    // Recordings asked for and not made yet.
    size_t recordings_asked_ = 0;
    // Questions to the controller that it has not answered.
    std::set<uint64_t> tickets_;
    base::Timer hello_timer_;
    std::vector<uint64_t> in_flight_;  // request ids, each once
    // Requests in flight that end only when their results are on the host.
    std::set<uint64_t> on_host_;
    bool greeted_ = false;
    uint32_t version_ = 0;  // of the protocol, common to both sides
    bool joining_ = false;
    bool closing_ = false;
    mutable bool was_stopped_ = false;  // as last logged
};

}  // namespace pace::daemon
