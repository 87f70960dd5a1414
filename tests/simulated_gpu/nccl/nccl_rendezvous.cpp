#include "tests/simulated_gpu/nccl/nccl_rendezvous.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "tests/simulated_gpu/nccl/nccl_message.h"
#include "tests/simulated_gpu/nccl/nccl_sum.h"

namespace pace::simulated_gpu {

using namespace device;  // for NCCL's own names

namespace {

// The content of a unique id.
struct Place {
    socklen_t length;
    sockaddr_un address;
};
static_assert(sizeof(Place) <= sizeof(ncclUniqueId));

struct Member {
    base::UniqueFd socket;
    std::optional<Joining> joining;
    // A message of this member that all members must send.
    std::optional<Message> waiting;
};

class Rendezvous {
  public:
    explicit Rendezvous(base::UniqueFd listening) : listening_(std::move(listening)) {}

    // Returns true if all members that came have gone.
    bool is_over() const { return anyone_came_ && members_.empty(); }
    void add_sources(std::vector<pollfd>& sources) const;
    // Takes the results of poll() for the sources that add_sources() has added.
    void read(std::span<const pollfd>& sources);

  private:
    void hear(Member& member);
    void join(Member& member);
    void answer_when_all_wait();
    void answer(const Message& said);
    void sum();
    void fail(ncclResult_t result, const std::string& text);

    base::UniqueFd listening_;
    std::list<Member> members_;  // by rank once all have joined
    bool anyone_came_ = false;
    bool connected_ = false;
    bool failed_ = false;
    bool finalized_ = false;
};

void Rendezvous::add_sources(std::vector<pollfd>& sources) const {
    sources.push_back({listening_.get(), POLLIN, 0});
    for (const Member& member : members_) sources.push_back({member.socket.get(), POLLIN, 0});
}

void Rendezvous::read(std::span<const pollfd>& sources) {
    const bool comes = sources.front().revents != 0;
    sources = sources.subspan(1);
    for (Member& member : members_) {
        if (sources.front().revents != 0) hear(member);
        sources = sources.subspan(1);
    }
    const auto gone =
        std::erase_if(members_, [](const Member& member) { return !member.socket.valid(); });
    if (gone > 0) fail(ncclRemoteError, "a rank has left its communicator");
    if (comes) {
        anyone_came_ = true;
        members_.emplace_back().socket.reset(
            accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    answer_when_all_wait();
}

void Rendezvous::hear(Member& member) {
    auto message = receive_message(member.socket.get());
    if (!message || failed_) return member.socket.reset();
    if (message->kind == MessageKind::connect && connected_) {
        (void)send_message(member.socket.get(), MessageKind::done);
        return;
    }
    member.waiting = std::move(message);
    if (member.waiting->kind == MessageKind::join) join(member);
}

void Rendezvous::join(Member& member) {
    Joining& mine = member.joining.emplace();
    std::memcpy(&mine, member.waiting->bytes.data(), sizeof(mine));
    for (const Member& other : members_) {
        if (&other == &member || !other.joining) continue;
        const Joining& theirs = *other.joining;
        if (theirs.rank == mine.rank || theirs.world != mine.world)
            fail(ncclInvalidUsage, fmt::format("rank {} of {} met rank {} of {}", mine.rank,
                                               mine.world, theirs.rank, theirs.world));
        if (theirs.bus == mine.bus)
            fail(ncclInvalidUsage, fmt::format("Duplicate GPU detected : rank {} and rank {} both "
                                               "on CUDA device {:x}",
                                               mine.rank, theirs.rank, mine.bus));
    }
}

void Rendezvous::answer_when_all_wait() {
    if (failed_ || members_.empty() || !members_.front().joining) return;
    const auto world = static_cast<size_t>(members_.front().joining->world);
    if (members_.size() < world) return;
    if (!std::ranges::all_of(members_,
                             [](const Member& member) { return member.waiting.has_value(); }))
        return;
    members_.sort(
        [](const Member& a, const Member& b) { return a.joining->rank < b.joining->rank; });
    const Message& first = *members_.front().waiting;
    for (const Member& member : members_) {
        const Message& other = *member.waiting;
        if (other.kind == first.kind && other.number == first.number &&
            other.bytes.size() == first.bytes.size())
            continue;
        return fail(ncclInvalidUsage,
                    fmt::format("rank 0 has {} bytes of type {} where rank {} has {} of type {}",
                                first.bytes.size(), first.number, member.joining->rank,
                                other.bytes.size(), other.number));
    }
    answer(first);
    for (Member& member : members_) member.waiting.reset();
}

void Rendezvous::answer(const Message& said) {
    if (said.kind == MessageKind::share) return sum();
    connected_ = connected_ || said.kind == MessageKind::connect;
    finalized_ = said.kind == MessageKind::finalize;
    for (const Member& member : members_)
        (void)send_message(member.socket.get(), MessageKind::done);
}

void Rendezvous::sum() {
    const auto type = static_cast<ncclDataType_t>(members_.front().waiting->number);
    std::vector<std::byte> total = members_.front().waiting->bytes;
    for (auto member = std::next(members_.begin()); member != members_.end(); ++member)
        add_share(type, total, member->waiting->bytes);
    for (const Member& member : members_)
        (void)send_message(member.socket.get(), MessageKind::total, type, total.data(),
                           total.size());
}

void Rendezvous::fail(ncclResult_t result, const std::string& text) {
    if (finalized_ || std::exchange(failed_, true)) return;
    for (const Member& member : members_)
        (void)send_text(member.socket.get(), MessageKind::failed, result, text);
}

// All rendezvous of this process, and the thread that serves them. The Server is never destroyed,
// because a thread may be using it when the process ends.
class Server {
  public:
    static Server& get() {
        static Server& server = *[] {
            (void)std::atexit([] { get().stop(); });
            return new Server;
        }();
        return server;
    }

    void add(base::UniqueFd listening) {
        const std::scoped_lock lock(mutex_);
        added_.emplace_back(std::move(listening));
        if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
        wake();
    }

  private:
    void stop() {
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
            wake();
        }
        if (thread_.joinable()) thread_.join();
    }

    void wake() const {
        const uint64_t one = 1;
        (void)!write(wakeup_.get(), &one, sizeof(one));
    }

    void serve() {
        while (take_added()) {
            std::vector<pollfd> sources{{wakeup_.get(), POLLIN, 0}};
            for (const Rendezvous& one : serving_) one.add_sources(sources);
            if (poll(sources.data(), sources.size(), -1) <= 0) continue;
            std::span<const pollfd> left = std::span(sources).subspan(1);
            for (Rendezvous& one : serving_) one.read(left);
            std::erase_if(serving_, [](const Rendezvous& one) { return one.is_over(); });
        }
    }

    // Returns false if the thread is to end.
    bool take_added() {
        uint64_t count = 0;
        (void)!read(wakeup_.get(), &count, sizeof(count));
        const std::scoped_lock lock(mutex_);
        serving_.splice(serving_.end(), added_);
        return !stopping_;
    }

    const base::UniqueFd wakeup_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::mutex mutex_;
    std::thread thread_;
    bool stopping_ = false;
    std::list<Rendezvous> added_;
    std::list<Rendezvous> serving_;  // used only by the thread
};

}  // namespace

void prepare_rendezvous() {
    (void)Server::get();
}

bool open_rendezvous(ncclUniqueId& ret_id) {
    base::UniqueFd listening(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    Place place{sizeof(sa_family_t), {}};
    place.address.sun_family = AF_UNIX;
    auto* const address = reinterpret_cast<sockaddr*>(&place.address);
    // The address has no more than its family. Then the kernel chooses an abstract address that
    // nobody has.
    if (!listening.valid() || bind(listening.get(), address, place.length) != 0) return false;
    place.length = sizeof(place.address);
    if (getsockname(listening.get(), address, &place.length) != 0 ||
        listen(listening.get(), SOMAXCONN) != 0)
        return false;
    ret_id = {};
    std::memcpy(&ret_id, &place, sizeof(place));
    Server::get().add(std::move(listening));
    return true;
}

base::UniqueFd connect_to_rendezvous(const ncclUniqueId& id) {
    Place place{};
    std::memcpy(&place, &id, sizeof(place));
    base::UniqueFd connected(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(connected.get(), reinterpret_cast<sockaddr*>(&place.address), place.length) != 0)
        connected.reset();
    return connected;
}

}  // namespace pace::simulated_gpu
