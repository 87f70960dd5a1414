#include "service/simulator/measured/status_source.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "base/unique_fd.h"
#include "service/simulator/measured/measured_job.h"

namespace pace::simulator {

using base::ErrorKind;
using base::make_errno_error;
using base::make_error;
using base::Result;
using base::UniqueFd;

namespace {

Result<std::string> read_all(int fd, const std::string& name) {
    std::string text;
    char block[65536];
    for (;;) {
        const ssize_t got = ::read(fd, block, sizeof(block));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return make_errno_error(errno, name);
        if (got == 0) return text;
        text.append(block, static_cast<size_t>(got));
        if (text.size() > kStatusBytesMax)
            return make_error(ErrorKind::limit,
                              "{} has more than {} MiB; a status document is smaller", name,
                              kStatusBytesMax >> 20U);
    }
}

// A child process and its output. A reader that stops reading closes the pipe, which ends the
// child.
class Child {
  public:
    Child(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() { wait(); }

    int output() const { return output_.get(); }

    // Returns the child's status, in the form of waitpid.
    int wait() {
        output_.reset();
        while (pid_ > 0 && ::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
        }
        pid_ = 0;
        return status_;
    }

  private:
    pid_t pid_;
    UniqueFd output_;
    int status_ = 0;
};

Result<pid_t> spawn(const std::string& program, std::vector<std::string> words, int output) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    pid_t pid = 0;
    const int failed =
        posix_spawnp(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed == 0) return pid;
    return make_error(ErrorKind::unavailable,
                      "{} cannot be run ({}); put it into PATH, or give its document with --status",
                      program, std::generic_category().message(failed));
}

// The pacectl beside "/usr/bin/pace-sim" is "/usr/bin/pacectl".
std::string pacectl_program() {
    char self[4096];
    const ssize_t length = ::readlink("/proc/self/exe", self, sizeof(self));
    if (length > 0) {
        const std::string path(self, static_cast<size_t>(length));
        std::string beside = path.substr(0, path.rfind('/') + 1) + "pacectl";
        if (::access(beside.c_str(), X_OK) == 0) return beside;
    }
    return "pacectl";
}

}  // namespace

Result<std::string> read_status(const std::string& path) {
    if (path == "-") return read_all(STDIN_FILENO, "standard input");
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return make_errno_error(errno, path);
    return read_all(file.get(), path);
}

Result<std::string> ask_program(const std::string& program, const std::string& endpoint) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return make_errno_error(errno, "pipe");
    UniqueFd output(ends[0]);
    UniqueFd input(ends[1]);
    std::vector<std::string> words = {"pacectl"};
    if (!endpoint.empty()) words.insert(words.end(), {"--endpoint", endpoint});
    words.insert(words.end(), {"status", "--json"});
    PACE_TRY_ASSIGN(pid, spawn(program, std::move(words), input.get()));
    input.reset();
    Child child(pid, std::move(output));
    PACE_TRY_ASSIGN(text, read_all(child.output(), "what pacectl prints"));
    const int status = child.wait();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
    return make_error(ErrorKind::unavailable,
                      "`{} status --json` ended with {}; its message is above", program,
                      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

Result<std::string> ask_pacectl(const std::string& endpoint) {
    return ask_program(pacectl_program(), endpoint);
}

}  // namespace pace::simulator
