// libpaced: a whole daemon in the trainer's own process, on its own thread, for the endpoint
// "embedded:".
//
// The trainer's library opens this with dlopen and asks for a connection. Everything else goes over
// that socket, as with a daemon in another process. Daemons are shared: there is one per
// configuration file. They end with the process.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "base/log/log.h"
#include "base/threads/begin_thread.h"
#include "daemon/config.h"
#include "daemon/node.h"
#include "daemon/runtime/crypto.h"
#include "settings/log_level.h"
#include "settings/settings.h"

namespace pace::daemon {
namespace {

using base::Result;

// The system's configuration file belongs to the system's daemon. An embedded one reads a file only
// if it is named.
const settings::Table& table() {
    static const settings::Table without_file = [] {
        settings::Table all = settings::daemon_table();
        all.file = "";
        return all;
    }();
    return without_file;
}

class EmbeddedDaemon {
  public:
    static Result<std::unique_ptr<EmbeddedDaemon>> start(const std::string& config_file) {
        std::vector<const char*> arguments{"paced"};
        if (!config_file.empty())
            arguments.insert(arguments.end(), {"--config", config_file.c_str()});
        PACE_TRY_ASSIGN(loaded, settings::load(table(), static_cast<int>(arguments.size()),
                                               arguments.data(), environ));
        PACE_TRY_ASSIGN(config, node_config(loaded.settings));
        config.socket.clear();
        config.hosted = true;
        if (loaded.settings.text("name").empty())
            config.name = config.name.substr(0, 48) + fmt::format("-{}", getpid());
        // Standard error belongs to the host process: the library writes there only if its owner
        // asks for a log.
        const bool chosen = loaded.settings.origin("log_level") != "default";
        base::set_log_level(chosen ? settings::log_level_of(loaded.settings)
                                   : base::LogLevel::none);
        PACE_TRY_ASSIGN(loop, base::EventLoop::create(
                                  std::chrono::microseconds(loaded.settings.integer("spin_us"))));
        auto daemon = std::unique_ptr<EmbeddedDaemon>(new EmbeddedDaemon(std::move(loop)));
        PACE_TRY_ASSIGN(node, Node::create(*daemon->loop_, config));
        daemon->node_ = std::move(node);
        const auto begin = [&daemon] {
            daemon->thread_ = base::begin_thread([raw = daemon.get()] { raw->loop_->run(); });
        };
        if (!base::attempt(begin)) return base::out_of_memory();
        return daemon;
    }

    ~EmbeddedDaemon() {
        if (!thread_.joinable()) return;
        loop_->stop();
        thread_.join();
    }
    EmbeddedDaemon(const EmbeddedDaemon&) = delete;
    EmbeddedDaemon& operator=(const EmbeddedDaemon&) = delete;

    Result<int> connect() {
        std::array<int, 2> ends{};
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
            return base::make_errno_error(errno, "create a socket pair");
        const auto socket = std::make_shared<base::UniqueFd>(ends[0]);
        loop_->post(scope_.callback([this, socket] { node_->add_client(std::move(*socket)); }));
        return ends[1];
    }

  private:
    explicit EmbeddedDaemon(std::unique_ptr<base::EventLoop> loop) : loop_(std::move(loop)) {}

    std::unique_ptr<base::EventLoop> loop_;
    std::unique_ptr<Node> node_;
    std::thread thread_;
    base::Scope scope_;
};

struct Daemons {
    std::mutex mutex;
    std::map<std::string, std::unique_ptr<EmbeddedDaemon>> by_config;
};

// The daemons' threads use OpenSSL until the process exits: the daemons end first.
Daemons& daemons() {
    begin_crypto();
    static Daemons all;
    return all;
}

Result<int> connect_embedded(const std::string& config_file) {
    Daemons& all = daemons();
    const std::lock_guard lock(all.mutex);
    std::unique_ptr<EmbeddedDaemon>& daemon = all.by_config[config_file];
    if (!daemon) {
        auto started = EmbeddedDaemon::start(config_file);
        if (!started) return started.error();
        daemon = std::move(*started);
    }
    return daemon->connect();
}

}  // namespace
}  // namespace pace::daemon

// The library's only symbol. Returns a connected SOCK_SEQPACKET descriptor that the caller owns. On
// an error returns -1, with a zero-terminated message in `error`. `config_file` may be null. Any
// thread; blocks while the daemon starts.
extern "C" __attribute__((visibility("default"))) int paced_embed_connect(const char* config_file,
                                                                          char* error,
                                                                          size_t error_bytes) {
    const auto fd = pace::daemon::connect_embedded(config_file == nullptr ? "" : config_file);
    if (fd) return *fd;
    if (error != nullptr && error_bytes > 0) {
        const std::string& message = fd.error().message;
        const size_t length = std::min(message.size(), error_bytes - 1);
        std::memcpy(error, message.data(), length);
        error[length] = '\0';
    }
    return -1;
}
