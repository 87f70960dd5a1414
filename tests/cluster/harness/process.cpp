#include "tests/cluster/harness/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace pace::cluster {

namespace {

constexpr int kOutputBytes = 1 << 20;

int left_ms(Deadline deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return left.count() < 0 ? 0 : static_cast<int>(left.count());
}

bool wait_readable(int fd, Deadline deadline) {
    pollfd entry{fd, POLLIN, 0};
    return poll(&entry, 1, left_ms(deadline)) > 0;
}

}  // namespace

Process::Process(std::vector<std::string> arguments, const std::string& log_file,
                 std::vector<std::string> environment) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    // Nobody reads while the test looks at another process. The pipe is large so that this
    // process's output does not stop it.
    fcntl(ends[1], F_SETPIPE_SZ, kOutputBytes);
    output_.reset(ends[0]);
    const base::UniqueFd write_end(ends[1]);
    start(std::move(arguments), log_file, std::move(environment), -1, write_end.get());
}

Process Process::on_terminal(std::vector<std::string> arguments, const std::string& log_file) {
    Process process;
    process.output_.reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    const int terminal = process.output_.get();
    std::array<char, 64> name{};
    if (grantpt(terminal) != 0 || unlockpt(terminal) != 0 ||
        ptsname_r(terminal, name.data(), name.size()) != 0)
        return process;
    const base::UniqueFd slave(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    process.start(std::move(arguments), log_file, {}, slave.get(), slave.get());
    return process;
}

void Process::start(std::vector<std::string> arguments, const std::string& log_file,
                    std::vector<std::string> environment, int input, int child_output) {
    const base::UniqueFd log(
        open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (std::string& entry : environment) envp.push_back(entry.data());
    for (char** entry = environ; *entry != nullptr; ++entry) envp.push_back(*entry);
    envp.push_back(nullptr);

    pid_ = fork();
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (input >= 0) dup2(input, STDIN_FILENO);
        dup2(child_output, STDOUT_FILENO);
        dup2(log.get(), STDERR_FILENO);
        execve(argv[0], argv.data(), envp.data());
        _exit(127);
    }
    pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
}

Process::Process(Process&& other) noexcept {
    *this = std::move(other);
}

Process& Process::operator=(Process&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(pidfd_, other.pidfd_);
    std::swap(output_, other.output_);
    std::swap(pending_, other.pending_);
    std::swap(lines_, other.lines_);
    std::swap(status_, other.status_);
    return *this;
}

Process::~Process() {
    if (pid_ <= 0 || status_) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

bool Process::running() {
    return !wait(within(std::chrono::milliseconds(0))).has_value();
}

void Process::signal(int number) const {
    // A pid of -1 would mean every process of this machine. The pid is -1 in an object that was
    // moved from, or after a fork that failed.
    if (pid_ > 0 && !status_) kill(pid_, number);
}

bool Process::limit_files(rlim_t bytes) const {
    const rlimit limit{bytes, RLIM_INFINITY};
    return prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr) == 0;
}

void Process::type(const std::string& keys) const {
    (void)!write(output_.get(), keys.data(), keys.size());
}

bool Process::fill(Deadline deadline) {
    if (!wait_readable(output_.get(), deadline)) return false;
    std::array<char, 4096> bytes{};
    const ssize_t size = read(output_.get(), bytes.data(), bytes.size());
    if (size <= 0) return false;
    pending_.append(bytes.data(), static_cast<size_t>(size));
    return true;
}

std::optional<std::string> Process::read_line(Deadline deadline) {
    size_t end = 0;
    while ((end = pending_.find('\n')) == std::string::npos) {
        if (!fill(deadline)) return std::nullopt;
    }
    std::string line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    lines_.push_back(line);
    return line;
}

std::optional<std::string> Process::wait_for(const std::string& prefix, Deadline deadline) {
    while (auto line = read_line(deadline)) {
        if (line->starts_with(prefix)) return line->substr(prefix.size());
    }
    return std::nullopt;
}

bool Process::wait_for_text(const std::string& text, Deadline deadline) {
    while (pending_.find(text) == std::string::npos) {
        if (!fill(deadline)) return false;
    }
    pending_.erase(0, pending_.find(text) + text.size());
    return true;
}

std::optional<int> Process::wait(Deadline deadline) {
    if (status_) return status_;
    if (!wait_readable(pidfd_.get(), deadline)) return std::nullopt;
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) return std::nullopt;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return status_;
}

}  // namespace pace::cluster
