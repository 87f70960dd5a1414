#include "daemon/clients/client.h"

#include <sys/epoll.h>

#include <algorithm>

#include "base/attempt.h"
#include "base/log/daemon_events.h"
#include "base/log/training_events.h"
#include "protocol/option_codec.h"
#include "protocol/options/names.h"
#include "protocol/version.h"

namespace pace::daemon {

using base::Error;
using base::ErrorKind;
using base::Result;
namespace fb = protocol::client;

namespace {

constexpr base::Duration kHelloWait = std::chrono::seconds(10);
constexpr uint32_t kMemberCapacityMax = 128;

flatbuffers::Offset<fb::RingStrides> strides_in(flatbuffers::FlatBufferBuilder& builder,
                                                const protocol::RingStrides& strides) {
    return fb::CreateRingStrides(builder, strides.header, strides.submission, strides.completion,
                                 strides.mark, strides.wait, strides.member);
}

}  // namespace

Client::Client(ClientContext& context, base::UniqueFd socket, PeerProcess process, Charge charge,
               base::Callback closed)
    : context_(context),
      socket_(std::make_shared<base::UniqueFd>(std::move(socket))),
      process_(process),
      charge_(std::move(charge)),
      closed_(std::move(closed)),
      quota_(context.limits),
      staging_(context.devices) {
    const auto watched = context_.loop.watch(socket_->get(), EPOLLIN | EPOLLRDHUP,
                                             [this](uint32_t events) { on_socket(events); });
    if (!watched) close_later();
    hello_timer_ = context_.loop.run_after(kHelloWait, [this] {
        refuse(base::make_error(ErrorKind::timeout, "no hello within {} s of connecting",
                                kHelloWait / std::chrono::seconds(1)));
    });
}

Client::~Client() {
    close(false);
}

// Takes one packet even if more are there: the loop calls again in its next turn, after the other
// clients. If memory for the client's request runs out, the client is refused.
void Client::on_socket(uint32_t events) {
    if (!base::attempt([&] { take_packets(events); })) refuse(base::out_of_memory());
}

void Client::take_packets(uint32_t events) {
    if ((events & EPOLLOUT) != 0 && !flush()) close_later();
    if (closing_) return;
    auto received = receive_packet(socket_->get());
    if (!received) {
        refuse(received.error());
        return;
    }
    if (received->would_block) return;
    if (received->closed) {
        close_later();
        return;
    }
    const auto* packet = verify_packet(received->bytes);
    const auto handled =
        packet == nullptr
            ? Result<>(base::make_error(ErrorKind::corrupt, "a packet of {} bytes does not parse",
                                        received->bytes.size()))
            : handle(*packet, received->fds);
    if (!handled) refuse(handled.error());
}

Result<> Client::handle(const fb::Packet& packet, std::vector<base::UniqueFd>& fds) {
    if (!greeted_ && packet.body_type() != fb::Body::Hello)
        return base::make_error(ErrorKind::corrupt, "the first packet must be a hello");
    // No other packet uses descriptors, and descriptors that are not charged are not kept. A
    // client's GPUs have one each, of a page.
    if (!fds.empty() && packet.body_type() != fb::Body::BufferCreate &&
        packet.body_type() != fb::Body::DeviceShare)
        return base::make_error(ErrorKind::corrupt, "a packet of kind {} carries descriptors",
                                static_cast<unsigned>(packet.body_type()));
    switch (packet.body_type()) {
        case fb::Body::Hello:
            return on_hello(*packet.body_as_Hello());
        case fb::Body::Join:
            return on_join(*packet.body_as_Join());
        case fb::Body::BufferCreate:
            return on_buffer_create(*packet.body_as_BufferCreate(), fds);
        case fb::Body::BufferFree:
            return on_buffer_free(*packet.body_as_BufferFree());
        case fb::Body::DeviceShare:
            return on_device_share(*packet.body_as_DeviceShare(), fds);
        case fb::Body::Cancel:
            return on_cancel(*packet.body_as_Cancel());
        case fb::Body::Progress:
            on_progress(*packet.body_as_Progress());
            return {};
        case fb::Body::Leave:
            return on_leave(*packet.body_as_Leave());
        case fb::Body::Query:
            return on_query(*packet.body_as_Query());
        case fb::Body::JobCreate:
            return on_job_create(*packet.body_as_JobCreate());
        case fb::Body::JobDelete:
            return on_job_delete(*packet.body_as_JobDelete());
        case fb::Body::NodeDrain:
            return on_node_drain(*packet.body_as_NodeDrain());
        default:
            return base::make_error(ErrorKind::corrupt, "a client may not send a packet of kind {}",
                                    static_cast<unsigned>(packet.body_type()));
    }
}

void Client::refuse(const Error& error) {
    if (closing_) return;
    if (error.kind == ErrorKind::closed) return close_later();
    base::log_event(base::events::kClientRefused,
                    {{"pid", process_.pid}, {"uid", process_.uid}, {"reason", error.message}});
    [[maybe_unused]] const auto told = send_failed(0, error);
    close_later();
}

void Client::close_later() {
    if (closing_) return;
    closing_ = true;
    context_.loop.unwatch(socket_->get());
    context_.loop.defer(closed_);
}

void Client::close(bool orderly) {
    if (!closing_) context_.loop.unwatch(socket_->get());
    closing_ = true;
    hello_timer_.cancel();
    if (ring_) context_.loop.unwatch(ring_->submission_doorbell());
    for (const uint64_t ticket : std::exchange(tickets_, {})) context_.engine.forget(ticket);
    if (!seat_) return;
    const Seat seat = *std::exchange(seat_, std::nullopt);
    if (!orderly) {
        say_lost(seat);
        context_.engine.record({.kind = RecordKind::worker_lost}, seat);
    }
    if (orderly) {
        context_.engine.leave(seat, [] {});
    } else {
        // A dead trainer's own memory, and copies of it, go with the trainer.
        auto left = buffers_.all();
        std::erase_if(left, [](const BufferPtr& buffer) { return buffer->is_lent(); });
        context_.engine.died(seat, std::move(left));
    }
}

void Client::say_lost(const Seat& seat) const {
    base::log_event(base::events::kWorkerLost, {{"job", seat.job->state().options.name},
                                                {"rank", seat.worker->rank},
                                                {"pid", process_.pid},
                                                {"uid", process_.uid}});
}

// Rate-limited: one user's trainers meet the same limit again and again.
void Client::say_limit(const Error& error) {
    const uint64_t times =
        context_.limits_said.is_due(fmt::format("{}", process_.uid), base::now());
    if (times == 0) return;
    base::log_event(base::events::kLimitRefused, {{"pid", process_.pid},
                                                  {"uid", process_.uid},
                                                  {"reason", error.message},
                                                  {"times", times}});
}

Result<> Client::on_hello(const fb::Hello& hello) {
    if (greeted_) return base::make_error(ErrorKind::corrupt, "a second hello");
    hello_timer_.cancel();
    constexpr protocol::Versions ours;
    const auto theirs = protocol::told_versions(hello.version(), hello.least());
    const auto version = protocol::common_version(ours, theirs);
    if (!version)
        return base::make_error(ErrorKind::version,
                                "this daemon (Pace {}) speaks protocol {}, the library speaks {}: "
                                "install the same Pace on both "
                                "sides",
                                PACE_VERSION, in_words(ours), in_words(theirs));
    greeted_ = true;
    version_ = *version;
    return send_body(socket_->get(), [&](flatbuffers::FlatBufferBuilder& b) {
        const auto welcome = fb::CreateWelcomeDirect(
            b, version_, PACE_VERSION, context_.node.c_str(), context_.generation, true, true);
        return std::pair(fb::Body::Welcome, welcome.Union());
    });
}

Result<> Client::on_join(const fb::Join& join) {
    if (seat_ || joining_)
        return base::make_error(ErrorKind::corrupt, "a second join on one connection");
    JoinRequest request;
    request.rank = join.rank();
    auto options = protocol::read_job_options(*join.options());
    if (!options) return send_failed(join.request(), options.error());
    request.options = std::move(*options);
    if (const auto named = protocol::check_job_name(request.options.name); !named)
        return send_failed(join.request(), named.error());
    request.uid = process_.uid;
    request.again = join.again();
    request.iteration_untrusted = join.iteration();
    request.rounds_untrusted = join.rounds();
    if (join.run() != nullptr)
        request.run.id = join.run()->str().substr(0, protocol::kNameBytesMax);
    request.run.began = join.began();
    if (join.rerun() <= fb::Rerun::MAX) request.rerun = static_cast<control::Rerun>(join.rerun());
    joining_ = true;
    const uint64_t ticket = context_.engine.join(
        request, this,
        [this, id = join.request()](Result<Seat> seat) { on_joined(id, std::move(seat)); });
    tickets_.insert(ticket);
    return {};
}

void Client::on_joined(uint64_t request, Result<Seat> seat) {
    joining_ = false;
    tickets_.clear();
    if (!seat) {
        if (!send_failed(request, seat.error())) close_later();
        return;
    }
    seat_ = std::move(*seat);
    const control::JobOptions& options = seat_->job->state().options;
    if (const auto made = make_ring(std::min(options.world, kMemberCapacityMax)); !made) {
        refuse(made.error());
        return;
    }
    const auto watched =
        context_.loop.watch(ring_->submission_doorbell(), EPOLLIN, [this](uint32_t) {
            ring_->drain_doorbell();
            poll_ring();
        });
    const std::array<int, 3> fds{ring_->memory_fd(), ring_->submission_doorbell(),
                                 ring_->completion_doorbell()};
    const auto sent = send_body(
        socket_->get(),
        [&](flatbuffers::FlatBufferBuilder& b) {
            const auto job_options =
                protocol::write_job_options(b, protocol::write_options(options));
            const control::Run& run = seat_->job->state().run;
            const auto joined = fb::CreateJoined(
                b, request, seat_->job->state().id, seat_->worker->rank, options.world, job_options,
                seat_->under_way, ring_->layout().slots, ring_->layout().member_capacity,
                b.CreateString(run.id), run.began, strides_in(b, ring_->layout().strides),
                seat_->deserted);
            return std::pair(fb::Body::Joined, joined.Union());
        },
        fds);
    if (!watched || !sent) close_later();
}

Result<> Client::make_ring(uint32_t member_capacity) {
    const uint64_t bytes = protocol::RingLayout{protocol::kRingSlots, member_capacity}.bytes();
    // Three descriptors: the memory and two doorbells.
    PACE_TRY_ASSIGN(charge, context_.accounts->charge(
                                process_.uid, {.bytes = bytes, .descriptors = 3}, "a session"));
    PACE_TRY_ASSIGN(ring, RingServer::create(version_, member_capacity, socket_));
    ring_charge_ = std::move(charge);
    ring_.emplace(std::move(ring));
    return {};
}

void Client::on_progress(const fb::Progress& progress) {
    if (!seat_) return;
    Worker::Progress& told = seat_->worker->progress;
    if (progress.loss()) told.loss = *progress.loss();
    if (progress.samples_per_s()) told.samples_per_s = *progress.samples_per_s();
    if (progress.steps_done() && progress.steps_total())
        told.steps = {*progress.steps_done(), *progress.steps_total(), base::now()};
}

Result<> Client::on_leave(const fb::Leave& leave) {
    const auto left = [this, id = leave.request()] {
        [[maybe_unused]] const auto told = send_done(id);
        close_later();
    };
    if (!seat_) {
        left();
        return {};
    }
    tickets_.insert(context_.engine.leave(*std::exchange(seat_, std::nullopt), left));
    return {};
}

void Client::request_waits(uint64_t id, const std::string& what) {
    if (ring_) ring_->tell_wait(id, what);
}

bool Client::process_stopped() const {
    const bool stopped = process_.pid != getpid() && is_stopped(process_.pid);
    if (stopped != was_stopped_ && seat_) {
        context_.engine.record(
            {.kind = stopped ? RecordKind::worker_stopped : RecordKind::worker_continues}, *seat_);
        base::log_event(stopped ? base::events::kWorkerStopped : base::events::kWorkerContinues,
                        {{"job", seat_->job->state().options.name},
                         {"rank", seat_->worker->rank},
                         {"pid", process_.pid}});
    }
    was_stopped_ = stopped;
    return stopped;
}

Result<> Client::send_done(uint64_t request) {
    return send_body(socket_->get(), [&](flatbuffers::FlatBufferBuilder& b) {
        return std::pair(fb::Body::Done, fb::CreateDone(b, request).Union());
    });
}

Result<> Client::send_failed(uint64_t request, const Error& error) {
    if (request != 0 && error.kind == ErrorKind::limit) say_limit(error);
    return send_body(socket_->get(), [&](flatbuffers::FlatBufferBuilder& b) {
        const auto failure = fb::CreateFailedDirect(b, request, static_cast<int32_t>(error.kind),
                                                    error.message.c_str());
        return std::pair(fb::Body::Failed, failure.Union());
    });
}

Client::Summary Client::summary() const {
    Summary summary;
    summary.process = process_;
    summary.seated = seat_.has_value();
    if (seat_) {
        summary.job = seat_->job->state().options.name;
        summary.rank = seat_->worker->rank;
    }
    summary.bytes = quota_.bytes();
    summary.buffers = quota_.buffers();
    summary.requests = static_cast<uint32_t>(in_flight_.size());
    return summary;
}

}  // namespace pace::daemon
