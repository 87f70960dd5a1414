// controller_latency_bench: the time that a group decision adds to an exchange.
//
// The time runs from the last ready signal of a group to the arrival of its order at the daemon.
// There are two setups: embedded (controller and link on one loop, inproc://) and between processes
// (tcp:// loopback, each process on a loop of its own). Each setup runs with a loop that sleeps,
// and with a loop that polls for a while first. The program prints medians and tails in
// microseconds. It also prints how many decisions a second one daemon gets from the controller when
// it keeps many groups going.
//
//   controller_latency_bench [--json FILE]

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log/log.h"
#include "base/loop/event_loop.h"
#include "base/random.h"
#include "daemon/control/controller_link.h"
#include "service/controller/shell/controller_server.h"

namespace {

using namespace pace;
using daemon::control::GroupOrder;
using std::chrono::microseconds;

constexpr int kWarmUp = 500;
constexpr int kDecisions = 5000;

// A node with all the workers of one job. It signals, and measures until the order comes.
class Probe final : public daemon::ControlHandler {
  public:
    Probe(base::EventLoop& loop, const std::string& endpoint,
          std::shared_ptr<control_zmq::Context> context, uint32_t world)
        : loop_(loop), world_(world) {
        daemon::ControllerLinkConfig config;
        config.endpoint = endpoint;
        config.context = std::move(context);
        config.name = "probe";
        config.generation = base::random_token();
        auto link = daemon::ControllerLink::create(loop, config);
        if (!link) give_up(link.error());
        link_ = std::move(*link);
        if (const auto begun = link_->begin(*this); !begun) give_up(begun.error());
        until([this] { return committed_; });
    }

    // Both workers of a world of two signal, one decision after the other.
    std::vector<double> measure_latency() {
        std::vector<double> samples;
        for (int i = 0; i < kWarmUp + kDecisions; ++i) {
            link_->send(daemon::control::Ready{job_, 0, iteration_, 1});
            // The first signal is queued before the clock starts.
            for (int turn = 0; turn < 3; ++turn) loop_.turn(false);
            ordered_ = 0;
            const uint64_t begin = base::now_ns();
            link_->send(daemon::control::Ready{job_, 1, iteration_, 1});
            until([this] { return ordered_ != 0; });
            if (i >= kWarmUp) samples.push_back(static_cast<double>(ordered_ - begin) / 1000.0);
        }
        return samples;
    }

    // Every worker signals again as soon as its group was ordered.
    double measure_rate() {
        resignal_ = true;
        orders_ = 0;
        for (uint32_t rank = 0; rank < world_; ++rank)
            link_->send(daemon::control::Ready{job_, rank, iteration_, 1});
        const auto begin = base::now();
        until([begin] { return base::now() - begin > std::chrono::seconds(2); });
        return static_cast<double>(orders_) / base::to_seconds(base::now() - begin);
    }

    void on_attached(daemon::control::NodeId /*self*/) override {
        for (uint32_t rank = 0; rank < world_; ++rank) {
            daemon::control::WorkerJoin join;
            join.request = rank + 1;
            join.rank = rank;
            join.options = daemon::control::AskedOptions("bench", world_, "partial-reduce");
            join.options.values = {{"group.size", int64_t{2}}};
            join.uid = 1;
            link_->send(join);
        }
    }
    void on_message(const daemon::control::FromController& message) override {
        std::visit([this](const auto& said) { on(said); }, message);
    }
    void on(const daemon::control::JoinAccepted& accepted) { job_ = accepted.job; }
    void on(const daemon::control::JoinRefused& refused) {
        std::fprintf(stderr, "%s\n", refused.error.message.c_str());
        std::exit(1);
    }
    void on(const daemon::control::PrepareView& view) {
        link_->send(daemon::control::ViewPrepared{view.job, view.epoch, 0});
    }
    void on(const daemon::control::CommitView& view) { committed_ = view.members.size() == world_; }
    void on(const GroupOrder& order) {
        ordered_ = base::now_ns();
        ++orders_;
        iteration_ = order.iteration + 1;
        link_->send(daemon::control::GroupDone{job_, order.group, false, 1, 1});
        if (!resignal_) return;
        for (const auto& part : order.members)
            link_->send(daemon::control::Ready{job_, part.rank, iteration_, 1});
    }
    template <typename Other>
    void on(const Other& /*said*/) const {}
    void on_detached(bool /*excluded*/, const std::string& reason) override {
        std::fprintf(stderr, "detached: %s\n", reason.c_str());
    }
    void on_not_attached(const base::Error& /*because*/, base::Duration /*since*/) override {}
    void on_refused(const base::Error& /*error*/) override {}
    void report(daemon::control::Heartbeat& /*heartbeat*/) override {}

  private:
    [[noreturn]] static void give_up(const base::Error& error) {
        std::fprintf(stderr, "%s\n", error.message.c_str());
        std::exit(1);
    }
    void until(const std::function<bool()>& holds) {
        while (!holds()) loop_.turn(true);
    }

    base::EventLoop& loop_;
    std::unique_ptr<daemon::ControllerLink> link_;
    uint32_t world_;
    daemon::control::JobId job_ = 0;
    uint64_t iteration_ = 0;
    uint64_t ordered_ = 0;
    uint64_t orders_ = 0;
    bool committed_ = false;
    bool resignal_ = false;
};

std::unique_ptr<base::EventLoop> make_loop(base::Duration spin) {
    return base::EventLoop::create(spin).value();
}

std::unique_ptr<controller::ControllerServer> make_server(
    base::EventLoop& loop, std::shared_ptr<control_zmq::Context> context,
    const std::string& listen) {
    controller::ControllerConfig config;
    config.listen = {listen};
    auto server = controller::ControllerServer::create(loop, std::move(context), config);
    if (!server) {
        std::fprintf(stderr, "%s\n", server.error().message.c_str());
        std::exit(1);
    }
    return std::move(*server);
}

struct Measured {
    std::string where;
    int spin_us = 0;
    std::vector<double> samples_us;  // sorted
    double rate = 0;

    double at(double share) const {
        return samples_us[static_cast<size_t>(share * static_cast<double>(samples_us.size() - 1))];
    }
};

Measured measured(const char* where, base::Duration spin, std::vector<double> samples,
                  double rate) {
    std::sort(samples.begin(), samples.end());
    Measured result{where, static_cast<int>(spin / microseconds(1)), std::move(samples), rate};
    std::printf("%-18s spin %3d us   median %7.1f us   p90 %7.1f   p99 %7.1f   %8.0f decisions/s\n",
                where, result.spin_us, result.at(0.5), result.at(0.9), result.at(0.99), rate);
    std::fflush(stdout);
    return result;
}

// Writes the records of `controller` as bench/README.md describes them.
bool write_json(const char* file, const std::vector<Measured>& results) {
    std::FILE* out = std::fopen(file, "w");
    if (out == nullptr) return false;
    const char* separator = "[";
    for (const Measured& result : results) {
        std::fprintf(out,
                     "%s{\"bench\": \"controller\", \"implementation\": \"pace, %s, spin %d us\", "
                     "\"workers\": 2, \"nodes\": 1, \"bytes\": 0, \"median_s\": %.9f, "
                     "\"min_s\": %.9f, \"max_s\": %.9f, \"p99_s\": %.9f, \"floor_s\": null, "
                     "\"samples\": %zu, \"decisions_per_s\": %.0f}",
                     separator, result.where.c_str(), result.spin_us, result.at(0.5) / 1e6,
                     result.at(0) / 1e6, result.at(1) / 1e6, result.at(0.99) / 1e6,
                     result.samples_us.size(), result.rate);
        separator = ",\n";
    }
    std::fprintf(out, "]\n");
    return std::fclose(out) == 0;
}

Measured embedded(base::Duration spin) {
    const auto loop = make_loop(spin);
    const auto context = control_zmq::Context::create().value();
    const auto server = make_server(*loop, context, "inproc://bench");
    std::vector<double> samples = Probe(*loop, "inproc://bench", context, 2).measure_latency();
    const auto busy_context = control_zmq::Context::create().value();
    const auto busy_server = make_server(*loop, busy_context, "inproc://bench");
    const double rate = Probe(*loop, "inproc://bench", busy_context, 64).measure_rate();
    return measured("embedded", spin, std::move(samples), rate);
}

// Starts the controller in a child process, which ends with this one.
pid_t fork_controller(base::Duration spin, std::string& ret_endpoint) {
    std::array<int, 2> pipe_fds{};
    if (pipe(pipe_fds.data()) != 0) std::exit(1);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const auto loop = make_loop(spin);
        const auto server = make_server(*loop, nullptr, "tcp://127.0.0.1:0");
        const std::string& endpoint = server->endpoints().front();
        if (write(pipe_fds[1], endpoint.data(), endpoint.size()) < 0) _exit(1);
        close(pipe_fds[1]);
        loop->run();
        _exit(0);
    }
    close(pipe_fds[1]);
    std::array<char, 128> text{};
    const ssize_t got = read(pipe_fds[0], text.data(), text.size());
    close(pipe_fds[0]);
    if (got > 0) ret_endpoint.assign(text.data(), static_cast<size_t>(got));
    return child;
}

Measured between_processes(base::Duration spin) {
    std::vector<double> samples;
    double rate = 0;
    for (const uint32_t world : {2U, 64U}) {
        std::string endpoint;
        const pid_t child = fork_controller(spin, endpoint);
        {
            const auto loop = make_loop(spin);
            Probe probe(*loop, endpoint, nullptr, world);
            if (world == 2)
                samples = probe.measure_latency();
            else
                rate = probe.measure_rate();
        }
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
    }
    return measured("between processes", spin, std::move(samples), rate);
}

}  // namespace

int main(int argc, char** argv) {
    base::set_log_level(base::LogLevel::error);
    const char* json = nullptr;
    for (int i = 1; i + 1 < argc; i += 2)
        if (std::strcmp(argv[i], "--json") == 0) json = argv[i + 1];
    std::vector<Measured> results;
    // The processes are measured first, because a fork does not copy ZeroMQ's threads.
    for (const int spin : {0, 50}) results.push_back(between_processes(microseconds(spin)));
    for (const int spin : {0, 50}) results.push_back(embedded(microseconds(spin)));
    if (json == nullptr || write_json(json, results)) return 0;
    std::fprintf(stderr, "cannot write %s\n", json);
    return 1;
}
