#include "diary.h"

#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace pace::storms {

uint64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void Diary::ended_well(uint64_t group, const Finding& finding, uint64_t waited_ms) const {
    write_line("ok " + std::to_string(now_ns()) + " " + std::to_string(group) + " " +
               std::to_string(finding.hash) + " " + finding.content + " " +
               std::to_string(waited_ms));
}

void Diary::ended(pace_status status, const char* verb, uint64_t waited_ms,
                  const char* message) const {
    write_line("end " + std::to_string(now_ns()) + " " + pace_status_name(status) + " " + verb +
               " " + std::to_string(waited_ms) + " " + message);
}

void Diary::wrong(const std::string& what) const {
    write_line("wrong " + std::to_string(now_ns()) + " " + what);
}

void Diary::slow(const char* verb, uint64_t waited_ms) const {
    write_line("slow " + std::to_string(now_ns()) + " " + verb + " " + std::to_string(waited_ms));
}

void Diary::write_line(const std::string& line) {
    const std::string whole = line + "\n";
    // The storm is gone: nobody is left to train for.
    if (write(STDOUT_FILENO, whole.data(), whole.size()) < 0) std::exit(4);
}

}  // namespace pace::storms
