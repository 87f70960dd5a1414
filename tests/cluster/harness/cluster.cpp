#include "tests/cluster/harness/cluster.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/sanitized.h"

namespace pace::cluster {

Cluster::Cluster(Options options) : options_(std::move(options)) {
    std::string pattern = std::filesystem::temp_directory_path() / "pace-test-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    if (options_.controller) start_controller();
    for (size_t node = 0; node < options_.nodes; ++node) start_daemon(node);
}

Cluster::~Cluster() {
    if (testing::Test::HasFailure()) std::fputs(logs().c_str(), stderr);
    daemons_.clear();
    controller_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
}

void Cluster::start_controller() {
    const std::string host =
        options_.network == nullptr ? "127.0.0.1" : options_.network->address(options_.nodes);
    const std::string listen =
        controller_endpoint_.empty() ? "tcp://" + host + ":0" : controller_endpoint_;
    std::vector<std::string> arguments{PACE_CONTROLLER, "--listen", listen, "--journal", journal()};
    if (options_.network != nullptr) arguments.emplace_back("--insecure");
    // Under a sanitizer, sums of megabytes take a tenth of a second each. Several sums in a row
    // delay a heartbeat.
    if (base::kSanitized) arguments.insert(arguments.end(), {"--liveness-min-ms", "1500"});
    arguments.insert(arguments.end(), options_.controller_flags.begin(),
                     options_.controller_flags.end());
    controller_ =
        std::make_unique<Process>(at(options_.nodes, std::move(arguments)), log("controller"));
    const auto bound = controller_->wait_for("listening ", soon());
    ASSERT_TRUE(bound) << logs();
    controller_endpoint_ = *bound;
}

void Cluster::kill_controller() {
    controller_->signal(SIGKILL);
    ASSERT_TRUE(controller_->wait(soon()));
}

void Cluster::freeze_controller() {
    const std::string given_up = "nothing heard from the controller";
    std::vector<size_t> before;
    for (size_t node = 0; node < daemons_.size(); ++node)
        before.push_back(said(name(node), given_up));
    controller_->signal(SIGSTOP);
    for (size_t node = 0; node < daemons_.size(); ++node)
        EXPECT_TRUE(wait_until_said(name(node), given_up, before[node] + 1, soon())) << logs();
    controller_->signal(SIGCONT);
}

void Cluster::lose_journal() const {
    ASSERT_TRUE(std::filesystem::remove(journal()));
}

void Cluster::start_daemon(size_t node) {
    std::vector<std::string> arguments{PACED, "--socket", socket(node), "--name", name(node)};
    if (options_.controller) {
        const char* interface = options_.network == nullptr ? "lo" : Network::kSubnet;
        arguments.insert(arguments.end(), {"--controller", controller_endpoint_for(node),
                                           "--data-interface", interface});
    }
    if (options_.journal) arguments.insert(arguments.end(), {"--journal", journal()});
    if (options_.network != nullptr)
        arguments.insert(arguments.end(), {"--insecure", "--closed-network"});
    arguments.insert(arguments.end(), options_.daemon_flags.begin(), options_.daemon_flags.end());
    if (options_.checkpoints)
        arguments.insert(arguments.end(), {"--checkpoints", checkpoints(node)});
    if (node < options_.zones.size() && !options_.zones[node].empty())
        arguments.insert(arguments.end(), {"--zone", options_.zones[node]});
    Process process(at(node, std::move(arguments)), log(name(node)));
    const bool ready = process.wait_for("ready", soon()).has_value();
    if (node < daemons_.size()) {
        daemons_[node] = std::move(process);
    } else {
        daemons_.push_back(std::move(process));
    }
    ASSERT_TRUE(ready) << logs();
}

std::vector<std::string> Cluster::at(size_t place, std::vector<std::string> arguments) const {
    if (options_.network == nullptr) return arguments;
    return options_.network->at(place, std::move(arguments));
}

std::string Cluster::controller_endpoint_for(size_t node) {
    if (options_.cabled != node) return controller_endpoint_;
    const size_t colon = controller_endpoint_.rfind(':');
    if (!cable_) {
        const auto port = std::stoul(controller_endpoint_.substr(colon + 1));
        cable_ = std::make_unique<Cable>(static_cast<uint16_t>(port));
    }
    return controller_endpoint_.substr(0, colon + 1) + std::to_string(cable_->port());
}

Process Cluster::trainer(size_t node, std::vector<std::string> flags) {
    std::vector<std::string> arguments{TRAINER, "--endpoint", endpoint(node)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Process(std::move(arguments), log("trainers"));
}

std::vector<Process> Cluster::trainers(size_t world, const std::vector<std::string>& flags) {
    std::vector<Process> trainers;
    for (size_t rank = 0; rank < world; ++rank) {
        std::vector<std::string> own{"--rank", std::to_string(rank), "--world",
                                     std::to_string(world)};
        own.insert(own.end(), flags.begin(), flags.end());
        trainers.push_back(trainer(rank * options_.nodes / world, own));
    }
    for (Process& process : trainers)
        EXPECT_TRUE(process.wait_for("joined", soon()))
            << fmt::format("it said: {}\n", fmt::join(process.lines(), "\n")) << logs();
    return trainers;
}

std::string Cluster::pacectl(size_t node, const std::vector<std::string>& arguments, int status) {
    std::vector<std::string> all{PACECTL, "--endpoint", endpoint(node)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    Process process(std::move(all), log("pacectl"));
    std::string output;
    while (const auto line = process.read_line(soon())) output += *line + "\n";
    EXPECT_EQ(process.wait(soon()), status) << output << logs();
    return output;
}

std::string Cluster::state() {
    return pacectl(0, {"status", "--json"});
}

std::string Cluster::logs() const {
    std::ostringstream all;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
        if (entry.path().extension() != ".log") continue;
        // The file is copied line by line. Inserting the buffer of an empty file would put the
        // stream into a failed state.
        all << "---- " << entry.path().filename().string() << "\n";
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) all << line << "\n";
    }
    return all.str();
}

size_t Cluster::said(const std::string& who, const std::string& text) const {
    std::ifstream file(log(who));
    size_t times = 0;
    for (std::string line; std::getline(file, line);)
        if (line.find(text) != std::string::npos) ++times;
    return times;
}

bool Cluster::wait_until_said(const std::string& who, const std::string& text, size_t times,
                              Deadline deadline) const {
    const base::UniqueFd changes(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (inotify_add_watch(changes.get(), log(who).c_str(), IN_MODIFY) < 0) return false;
    while (said(who, text) < times) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(
            deadline - std::chrono::steady_clock::now());
        pollfd changed{changes.get(), POLLIN, 0};
        if (left.count() <= 0 || poll(&changed, 1, static_cast<int>(left.count())) <= 0)
            return false;
        std::array<char, 4096> events{};
        while (read(changes.get(), events.data(), events.size()) > 0) {
        }
    }
    return true;
}

}  // namespace pace::cluster
