#include "daemon/clients/listener.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/log/daemon_events.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using base::UniqueFd;

namespace {

constexpr base::Duration kLookAgain = std::chrono::seconds(1);
// Each failed attempt means another daemon that stopped in that very moment.
constexpr int kLockAttempts = 16;

// Makes the folder of the socket if only that folder is missing. systemd and the packages make it,
// but a daemon started by hand should not need them. A missing parent folder is a user's mistake.
Result<> make_folder_of(const std::string& path) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) return {};
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return {};
    return base::make_errno_error(
        errno, fmt::format("make {} for the socket; make it, or choose another place with --socket",
                           folder));
}

// Whether the path still names the opened file. The lock's holder removes the file when it stops; a
// lock on a removed file excludes no daemon.
bool is_at(int fd, const std::string& path) {
    struct stat opened {};
    struct stat named {};
    return fstat(fd, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Two daemons at one socket would each serve half of the trainers. The lock decides atomically
// which daemon is first, and ends with its holder, however the holder dies.
Result<UniqueFd> lock_path(const std::string& path) {
    PACE_TRY(make_folder_of(path));
    const std::string lock = path + ".lock";
    for (int attempt = 0; attempt < kLockAttempts; ++attempt) {
        UniqueFd fd(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (!fd.valid()) return base::make_errno_error(errno, "open " + lock);
        if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) break;
        if (is_at(fd.get(), lock)) return fd;
    }
    return base::make_error(ErrorKind::taken,
                            "another paced serves {}; stop it, or give this one another `socket`",
                            path);
}

// A service that runs as the group may be forbidden every chown, even one that changes nothing.
bool give_to(const std::string& path, gid_t id) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0 && status.st_gid == id) return true;
    return chown(path.c_str(), static_cast<uid_t>(-1), id) == 0;
}

void give_to_group(const std::string& path, const std::string& name) {
    std::array<char, 4096> text{};
    group entry{};
    group* found = nullptr;
    if (!name.empty()) getgrnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
    const mode_t mode = found != nullptr ? 0660 : 0600;
    if (found != nullptr && !give_to(path, found->gr_gid))
        base::log_event(base::events::kSocketGroupFailed, {{"socket", path}, {"group", name}});
    if (chmod(path.c_str(), mode) != 0)
        base::log_event(base::events::kSocketModeFailed, {{"socket", path}});
}

Result<UniqueFd> listen_at(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path))
        return base::make_error(ErrorKind::invalid,
                                "socket path \"{}\" must have 1 to {} characters", path,
                                sizeof(address.sun_path) - 1);
    std::memcpy(address.sun_path, path.c_str(), path.size());
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid()) return base::make_errno_error(errno, "create a Unix socket");
    unlink(path.c_str());
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        return base::make_errno_error(
            errno,
            fmt::format("bind {} (does its directory exist, may this user write there?)", path));
    return socket;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::create(base::EventLoop& loop, std::string path,
                                                   const std::string& group,
                                                   std::function<void(UniqueFd)> accepted) {
    PACE_TRY_ASSIGN(lock, lock_path(path));
    PACE_TRY_ASSIGN(socket, listen_at(path));
    give_to_group(path, group);
    if (listen(socket.get(), 64) != 0) return base::make_errno_error(errno, "listen on " + path);
    std::unique_ptr<Listener> listener(new Listener(loop, std::move(path), std::move(lock),
                                                    std::move(socket), std::move(accepted)));
    PACE_TRY(listener->watch());
    return listener;
}

Listener::Listener(base::EventLoop& loop, std::string path, UniqueFd lock, UniqueFd socket,
                   std::function<void(UniqueFd)> accepted)
    : loop_(loop),
      path_(std::move(path)),
      lock_(std::move(lock)),
      socket_(std::move(socket)),
      accepted_(std::move(accepted)) {}

Listener::~Listener() {
    loop_.unwatch(socket_.get());
    unlink(path_.c_str());
    unlink((path_ + ".lock").c_str());
}

Result<> Listener::watch() {
    return loop_.watch(socket_.get(), EPOLLIN, [this](uint32_t) { accept_one(); });
}

void Listener::watch_again() {
    const auto watched = watch();
    if (watched) return;
    base::log_event(base::events::kListeningFailed,
                    {{"socket", path_}, {"reason", watched.error().message}});
    again_ = loop_.run_after(kLookAgain, [this] { watch_again(); });
}

// Accepts one connection even if more wait: a refused client must be gone before the next one takes
// a descriptor.
void Listener::accept_one() {
    UniqueFd client(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.valid()) {
        accepted_(std::move(client));
        return;
    }
    // After EMFILE and the like, the socket stays readable and the loop would spin. So log the
    // error and try again later.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        base::log_event(base::events::kAcceptingFailed,
                        {{"socket", path_}, {"reason", std::strerror(errno)}});
        loop_.unwatch(socket_.get());
        again_ = loop_.run_after(kLookAgain, [this] { watch_again(); });
    }
}

}  // namespace pace::daemon
