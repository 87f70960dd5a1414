// gpu_probe: what this machine's GPU and driver do, a line a fact.
//
// Each fact is found out in a process of its own: it may hang, and it may end the process.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "tests/gpu/probe/facts.h"
#include "tests/gpu/probe/gpu.h"

namespace pace::gpu_probe {
namespace {

constexpr int kSkipped = 77;
constexpr std::chrono::seconds kFactMax{15};

constexpr const char* kUsage =
    "gpu_probe: what this machine's GPU and driver do, a line a fact (\"name: text\").\n"
    "\n"
    "  gpu_probe          all facts; some need root, and say so\n"
    "  gpu_probe --help   this text\n"
    "\n"
    "The exit code is 77 where there is no GPU.\n";

using Find = std::function<Lines()>;

Find told(const char* name, const std::function<Told()>& find) {
    return [name, find]() -> Lines {
        const Told fact = find();
        return {{name, fact ? *fact : "no: " + fact.error().message}};
    };
}

void print(const Lines& lines) {
    for (const auto& [name, text] : lines) std::printf("%s: %s\n", name.c_str(), text.c_str());
    std::fflush(stdout);
}

// Whether the child has ended in time.
bool ends_in_time(pid_t child) {
    const Clock::time_point end = Clock::now() + kFactMax;
    const base::UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    pollfd ended{handle.get(), POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    return poll(&ended, 1, static_cast<int>(left.count())) == 1;
}

// Returns the exit status of the fact's process.
int find_apart(const std::string& name, const Find& find) {
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        print(find());
        _exit(0);
    }
    const bool in_time = ends_in_time(child);
    if (!in_time) kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    if (!in_time)
        print({{name, "no: it hangs; given up after " + std::to_string(kFactMax.count()) + " s"}});
    else if (WIFSIGNALED(status))
        print({{name, "no: its process is ended by signal " + std::to_string(WTERMSIG(status))}});
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

// The first fact decides whether there are others.
Lines describe_or_end() {
    const auto lines = describe();
    if (lines && !lines->empty() && lines->back().first != "GPUs") return *lines;
    print({{"skipped",
            "there is no GPU here: " + (lines ? "the driver finds none" : lines.error().message)}});
    _exit(kSkipped);
}

void find_order(Where where, const std::string& place) {
    for (const auto& [kind, reach] :
         {std::pair("words", &words_reach), std::pair("events", &events_reach)}) {
        const std::string name = std::string(kind) + " between streams of two processes" + place;
        (void)find_apart(name, told(name.c_str(), [&, reach = reach] { return reach(where); }));
    }
}

void find(const char* name, const std::function<Told()>& fact) {
    (void)find_apart(name, told(name, fact));
}

int run() {
    if (const int status = find_apart("description", describe_or_end); status != 0) return status;
    find_order(Where::here, "");
    find_order(Where::other_user, " of two users");
    find_order(Where::other_shm, ", each with a /dev/shm of its own");
    find_order(Where::other_processes, " with other process numbers");
    find("a stream that waits for an event of a process that is killed",
         wait_for_an_event_of_the_dead);
    find("a stream that waits for a word of a process that is killed", wait_for_a_word_of_the_dead);
    find("beside a stream that waits, of 40 streams", streams_beside_a_blocked_one);
    find("words registered twice in one process reach each other", words_registered_twice);
    find("memory whose descriptor a killed process has exported", memory_of_the_dead);
    find("memory whose handle a killed process has exported", handle_of_the_dead);
    find("an event queried by another thread during a capture",
         [] { return capture_beside_a_query(false); });
    find("an event queried by another thread in relaxed mode during a capture",
         [] { return capture_beside_a_query(true); });
    find("a kernel that writes where there is no memory", containment);
    return 0;
}

}  // namespace
}  // namespace pace::gpu_probe

int main(int argc, char** argv) {
    if (argc == 1) return pace::gpu_probe::run();
    const bool asks = argc == 2 && std::string_view(argv[1]) == "--help";
    std::fputs(pace::gpu_probe::kUsage, asks ? stdout : stderr);
    return asks ? 0 : 2;
}
