#include "libclient/testing/fake_daemon.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>

#include "protocol/option_codec.h"

namespace pace::client::testing {

using base::MappedMemfd;
using base::UniqueFd;

namespace {

void must(bool holds, const char* what) {
    if (holds) return;
    std::perror(what);
    std::abort();
}

// Receives one message of the client. Returns nothing if the client has hung up.
std::vector<std::byte> receive(int socket, std::vector<UniqueFd>& fds) {
    std::vector<std::byte> bytes(kPacketBytesMax);
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    if (const cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
        fds.emplace_back(fd);
    }
    return bytes;
}

ino_t inode_of(int fd) {
    struct stat status {};
    must(fstat(fd, &status) == 0, "fstat");
    return status.st_ino;
}

}  // namespace

protocol::RingHeader& Peer::header() const {
    return *reinterpret_cast<protocol::RingHeader*>(ring.data());
}

protocol::CompletionEntry& Peer::completion_slot(uint32_t index) const {
    std::byte* const slots = ring.data() + layout.completions();
    return *reinterpret_cast<protocol::CompletionEntry*>(slots + size_t{layout.strides.completion} *
                                                                     (index & (layout.slots - 1)));
}

void Peer::send_bytes(std::span<const uint8_t> bytes, std::span<const int> fds) const {
    std::vector<uint8_t> copy(bytes.begin(), bytes.end());
    iovec part{copy.data(), copy.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(16 * sizeof(int))> control{};
    if (!fds.empty()) {
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(fds.size_bytes());
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(fds.size_bytes());
        std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    (void)sendmsg(socket.get(), &message, MSG_NOSIGNAL);
}

void Peer::send_failed(uint64_t request, base::ErrorKind kind, const char* message) const {
    flatbuffers::FlatBufferBuilder builder;
    send(builder, wire::CreateFailedDirect(builder, request, static_cast<int32_t>(kind), message));
}

void Peer::complete(const protocol::CompletionEntry& entry,
                    std::span<const protocol::MemberEntry> members) {
    std::memcpy(static_cast<void*>(&completion_slot(completion_tail)), &entry, sizeof(entry));
    const size_t slot = completion_tail & (layout.slots - 1);
    std::byte* list =
        ring.data() + layout.members() + slot * layout.member_capacity * layout.strides.member;
    for (const protocol::MemberEntry& member : members) {
        std::memcpy(list, &member, sizeof(member));
        list += layout.strides.member;
    }
    publish(completion_tail + 1);
}

void Peer::complete_done(uint64_t id) {
    protocol::CompletionEntry entry{};
    entry.id = id;
    complete(entry);
}

void Peer::complete_failed(uint64_t id, base::ErrorKind kind) {
    protocol::CompletionEntry entry{};
    entry.id = id;
    entry.outcome = protocol::Outcome::failed;
    entry.error_kind = static_cast<int32_t>(kind);
    complete(entry);
}

Script holding() {
    Script script;
    script.on_submission = [](Peer&, const protocol::SubmissionEntry&) {};
    return script;
}

std::function<void(Peer&, const protocol::SubmissionEntry&)> keeping(
    protocol::SubmissionEntry& seen) {
    return [&seen](Peer& peer, const protocol::SubmissionEntry& entry) {
        seen = entry;
        peer.complete_done(entry.id);
    };
}

void Peer::publish(uint32_t tail) {
    completion_tail = tail;
    header().completion.tail.value.store(tail);
    if (header().completion.consumer_sleeps.value.load() == 0) return;
    const uint64_t one = 1;
    must(write(completion_bell.get(), &one, sizeof(one)) == sizeof(one), "ring the bell");
}

FakeDaemon::FakeDaemon(std::string path, Script script) : path_(std::move(path)) {
    restart(std::move(script));
}

FakeDaemon::~FakeDaemon() {
    kill();
}

void FakeDaemon::restart(Script script) {
    kill();
    script_ = std::move(script);
    listener_.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    must(path_.size() < sizeof(address.sun_path), "socket path");
    std::memcpy(address.sun_path, path_.data(), path_.size());
    must(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
         "bind");
    must(listen(listener_.get(), 16) == 0, "listen");
    wakeup_.reset(eventfd(0, EFD_CLOEXEC));
    stopping_ = false;
    thread_ = std::thread([this] { run(); });
}

void FakeDaemon::kill() {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    const uint64_t one = 1;
    must(write(wakeup_.get(), &one, sizeof(one)) == sizeof(one), "wake the daemon");
    thread_.join();
}

void FakeDaemon::with_peer(const std::function<void(Peer&)>& action) {
    std::promise<void> done;
    {
        const std::scoped_lock lock(mutex_);
        posted_ = [&] {
            for (auto peer = peers_.rbegin(); peer != peers_.rend(); ++peer) {
                if (!(*peer)->joined || !(*peer)->socket.valid()) continue;
                action(**peer);
                break;
            }
            done.set_value();
        };
    }
    const uint64_t one = 1;
    must(write(wakeup_.get(), &one, sizeof(one)) == sizeof(one), "wake the daemon");
    done.get_future().wait();
}

void FakeDaemon::run_posted() {
    uint64_t count = 0;
    must(read(wakeup_.get(), &count, sizeof(count)) == sizeof(count), "read the wake-up");
    std::function<void()> posted;
    {
        const std::scoped_lock lock(mutex_);
        posted.swap(posted_);
    }
    if (posted) posted();
}

void FakeDaemon::run() {
    // The process's signals are the test's. The kernel would give them to any thread that does not
    // block them.
    sigset_t all;
    sigfillset(&all);
    must(pthread_sigmask(SIG_BLOCK, &all, nullptr) == 0, "block signals");
    for (;;) {
        {
            const std::scoped_lock lock(mutex_);
            if (stopping_) break;
        }
        std::vector<pollfd> watched{{wakeup_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
        for (const auto& peer : peers_) {
            watched.push_back({peer->socket.get(), POLLIN, 0});
            watched.push_back({peer->submission_bell.get(), POLLIN, 0});
        }
        must(poll(watched.data(), watched.size(), -1) > 0, "poll");
        if (watched[0].revents != 0) run_posted();
        const size_t count = (watched.size() - 2) / 2;
        for (size_t i = 0; i < count; ++i) {
            Peer& peer = *peers_[i];
            if (watched[3 + 2 * i].revents != 0) serve_submissions(peer);
            if (peer.socket.valid() && watched[2 + 2 * i].revents != 0) serve(peer);
        }
        std::erase_if(peers_, [](const auto& peer) { return !peer->socket.valid(); });
        if (watched[1].revents != 0) {
            peers_.push_back(std::make_unique<Peer>());
            peers_.back()->socket.reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (script_.on_accepted) script_.on_accepted(*peers_.back());
        }
    }
    peers_.clear();
    listener_.reset();
    unlink(path_.c_str());
}

void FakeDaemon::serve(Peer& peer) {
    std::vector<UniqueFd> fds;
    std::vector<std::byte> bytes = receive(peer.socket.get(), fds);
    if (bytes.empty()) {
        peer.close();
        return;
    }
    auto packet = Packet::verify(std::move(bytes), std::move(fds));
    must(packet.ok(), "the client sent nonsense");
    serve_packet(peer, std::move(*packet));
}

void FakeDaemon::serve_packet(Peer& peer, Packet packet) {
    if (script_.on_packet && script_.on_packet(peer, packet)) return;
    flatbuffers::FlatBufferBuilder builder;
    switch (packet.type()) {
        case wire::Body::Hello:
            peer.send(builder, wire::CreateWelcomeDirect(builder, script_.version, "fake 1.0",
                                                         "node-a", script_.generation));
            break;
        case wire::Body::Join:
            join(peer, *packet.body<wire::Join>());
            break;
        case wire::Body::BufferCreate:
            create_buffer(peer, packet);
            break;
        case wire::Body::BufferFree:
            peer.buffers.erase(packet.body<wire::BufferFree>()->buffer());
            peer.send(builder,
                      wire::CreateDone(builder, packet.body<wire::BufferFree>()->request()));
            break;
        case wire::Body::Leave:
            peer.send(builder, wire::CreateDone(builder, packet.body<wire::Leave>()->request()));
            peer.close();
            break;
        case wire::Body::NodeDrain:
            peer.send(builder,
                      wire::CreateDone(builder, packet.body<wire::NodeDrain>()->request()));
            break;
        case wire::Body::JobDelete:
            peer.send(builder,
                      wire::CreateDone(builder, packet.body<wire::JobDelete>()->request()));
            break;
        case wire::Body::JobCreate:
            peer.send(builder,
                      wire::CreateDone(builder, packet.body<wire::JobCreate>()->request()));
            break;
        default:
            break;
    }
}

void FakeDaemon::join(Peer& peer, const wire::Join& message) {
    peer.layout = {script_.ring_slots, script_.member_capacity, script_.strides};
    auto memory = MappedMemfd::create("fake-ring", peer.layout.bytes(), false);
    must(memory.ok(), "make the ring");
    peer.ring = std::move(*memory);
    protocol::RingHeader& header = peer.header();
    header.magic = protocol::kRingMagic;
    header.version = script_.version;
    header.ring_slots = script_.ring_slots;
    header.member_capacity = script_.member_capacity;
    header.submission.consumer_sleeps.value = 1;
    peer.submission_bell.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    peer.completion_bell.reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    peer.joined = true;
    if (script_.on_ring) script_.on_ring(peer);

    flatbuffers::FlatBufferBuilder builder;
    auto asked = protocol::read_job_options(*message.options());
    must(asked.ok(), "options that can be read");
    peer.policy = asked->policy;
    if (!script_.knows_options) asked->values.clear();
    const auto options = protocol::write_job_options(builder, *asked);
    const protocol::RingStrides apart = script_.told_strides.value_or(script_.strides);
    const auto strides =
        wire::CreateRingStrides(builder, apart.header, apart.submission, apart.completion,
                                apart.mark, apart.wait, apart.member);
    const std::array fds{peer.ring.fd(), peer.submission_bell.get(), peer.completion_bell.get()};
    peer.send(
        builder,
        wire::CreateJoined(builder, message.request(), 1, message.rank(), asked->world, options,
                           false, script_.ring_slots, script_.member_capacity, 0, 0, strides),
        fds);
}

void FakeDaemon::create_buffer(Peer& peer, Packet& packet) {
    const auto& message = *packet.body<wire::BufferCreate>();
    const size_t bytes = message.count() * size_of(static_cast<protocol::DType>(message.dtype()));
    FakeBuffer buffer;
    buffer.adopted = message.adopt();
    buffer.copied = message.copied();
    must(message.adopt() == !packet.fds().empty(), "a descriptor with adopt, and only then");
    auto memory = message.adopt() ? MappedMemfd::adopt(std::move(packet.fds()[0]), bytes)
                                  : MappedMemfd::create("fake-buffer", bytes, false);
    must(memory.ok(), "buffer memory");
    buffer.memory = std::move(*memory);
    buffer.inode = inode_of(buffer.memory.fd());
    const std::array fds{buffer.memory.fd()};
    // The numbers differ from the client's own numbers, so that a mix-up shows.
    const uint32_t index = 100 + peer.next_buffer++;
    flatbuffers::FlatBufferBuilder builder;
    peer.send(builder,
              wire::CreateBufferCreated(builder, message.request(), index, 7 + index, bytes, false),
              message.adopt() ? std::span<const int>() : std::span<const int>(fds));
    peer.buffers.emplace(index, std::move(buffer));
}

void FakeDaemon::serve_submissions(Peer& peer) {
    uint64_t count = 0;
    (void)!read(peer.submission_bell.get(), &count, sizeof(count));
    protocol::RingControl& submission = peer.header().submission;
    const std::byte* const slots = peer.ring.data() + peer.layout.submissions();
    while (peer.socket.valid() && peer.submission_head != submission.tail.value.load()) {
        const size_t slot = peer.submission_head++ & (peer.layout.slots - 1);
        protocol::SubmissionEntry entry{};
        std::memcpy(static_cast<void*>(&entry), slots + slot * peer.layout.strides.submission,
                    sizeof(entry));
        submission.head.value.store(peer.submission_head);
        if (script_.on_submission)
            script_.on_submission(peer, entry);
        else
            peer.complete_done(entry.id);
    }
}

}  // namespace pace::client::testing
