// A server whose loop runs on a thread, and clients that send any text over real sockets.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/loop/event_loop.h"
#include "base/loop/scope.h"
#include "base/unique_fd.h"
#include "service/http/server/server.h"

namespace pace::http {

constexpr const char* kToken = "reader-0123456789abcdef";
constexpr const char* kOperatorToken = "operator-0123456789abcdef";

// A folder with files. It exists as long as this object.
class Folder {
  public:
    Folder() {
        std::string pattern = testing::TempDir() + "pace-http-XXXXXX";
        path_ = mkdtemp(pattern.data());
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string file(const std::string& name, const std::string& text, unsigned mode = 0600) const {
        const std::string path = path_ + "/" + name;
        std::ofstream(path) << text;
        std::filesystem::permissions(path, std::filesystem::perms(mode));
        return path;
    }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

class RunningServer {
  public:
    explicit RunningServer(Routes routes, Options options = {}) {
        if (options.listen.empty()) options.listen = "127.0.0.1:0";
        auto loop = base::EventLoop::create();
        if (!loop) std::abort();
        loop_ = std::move(*loop);
        auto created = Server::create(*loop_, options, std::move(routes));
        if (!created) {
            ADD_FAILURE() << created.error().message;
            std::abort();
        }
        server_ = std::move(*created);
        thread_ = std::thread([this] { loop_->run(); });
    }
    ~RunningServer() {
        loop_->stop();
        thread_.join();
    }
    RunningServer(const RunningServer&) = delete;
    RunningServer& operator=(const RunningServer&) = delete;

    uint16_t port() const {
        const std::string& url = server_->url();
        return static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    }
    // Runs `work` on the loop and waits until it is done.
    template <typename Work>
    void on_loop(Work work) {
        std::promise<void> done;
        loop_->post(scope_.callback([&] {
            work();
            done.set_value();
        }));
        done.get_future().wait();
    }
    Server::Counters counters() {
        Server::Counters told;
        on_loop([&] { told = server_->counters(); });
        return told;
    }
    // The longest time that a callback has blocked the loop.
    base::Duration longest_step() {
        base::Duration told{};
        on_loop([&] { told = loop_->watch_of_steps().longest().took; });
        return told;
    }

  private:
    std::unique_ptr<base::EventLoop> loop_;
    std::unique_ptr<Server> server_;
    std::thread thread_;
    base::Scope scope_;
};

class Client {
  public:
    explicit Client(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience{.tv_sec = 10, .tv_usec = 0};
        setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        is_connected_ =
            connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }

    bool is_connected() const { return is_connected_; }

    // Returns false if the server has closed the connection.
    bool send(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            text.remove_prefix(static_cast<size_t>(sent));
        }
        return true;
    }
    // Returns all that comes until the server closes, or until nothing has come for ten seconds.
    std::string receive_all() const {
        std::string all;
        std::array<char, 65536> piece{};
        for (;;) {
            const ssize_t got = recv(fd_.get(), piece.data(), piece.size(), 0);
            if (got <= 0) break;
            all.append(piece.data(), static_cast<size_t>(got));
        }
        return all;
    }
    // Receives once, at most `bytes_max` bytes.
    std::string receive_some(size_t bytes_max) const {
        std::string some(bytes_max, '\0');
        const ssize_t got = recv(fd_.get(), some.data(), some.size(), 0);
        some.resize(got < 0 ? 0 : static_cast<size_t>(got));
        return some;
    }
    // Whether the server closes the connection. Gives up when nothing has come for ten seconds.
    bool is_closed_by_server() const {
        std::array<char, 4096> piece{};
        for (;;) {
            const ssize_t got = recv(fd_.get(), piece.data(), piece.size(), 0);
            if (got == 0) return true;
            if (got < 0) return errno == ECONNRESET;
        }
    }
    int fd() const { return fd_.get(); }

  private:
    base::UniqueFd fd_;
    bool is_connected_ = false;
};

// Sends one request on a separate connection and returns the whole answer.
inline std::string ask(const RunningServer& server, const std::string& line,
                       const std::string& headers = "Host: localhost\r\n",
                       const std::string& body = "") {
    const Client client(server.port());
    client.send(line + " HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n" + body);
    return client.receive_all();
}

inline int status_of(const std::string& answer) {
    return answer.starts_with("HTTP/1.") ? std::stoi(answer.substr(9, 3)) : 0;
}

inline std::string body_of(const std::string& answer) {
    const size_t end = answer.find("\r\n\r\n");
    return end == std::string::npos ? std::string{} : answer.substr(end + 4);
}

// The handlers echo what they saw.
inline Routes echo_routes() {
    Routes routes;
    const auto echo = [](const Request& request) {
        Response response;
        response.body = request.method + " " + request.path;
        for (const auto& [name, value] : request.query) response.body += " " + name + "=" + value;
        for (const std::string& name : request.names) response.body += " [" + name + "]";
        if (request.is_operator) response.body += " operator";
        if (!request.body.empty()) response.body += " " + request.body;
        return response;
    };
    routes.get("/open", echo, Access::anyone);
    routes.get("/read", echo);
    routes.get("/api/nodes/*/look", echo);
    routes.post("/api/nodes/*/drain", echo);
    routes.get("/large", [](const Request&) {
        Response response;
        response.body.assign(size_t{8} << 20U, 'x');
        return response;
    });
    return routes;
}

}  // namespace pace::http
