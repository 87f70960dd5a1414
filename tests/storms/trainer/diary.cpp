#include "diary.h"

#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace pace::storms {

namespace {

const char* name_of(pace_contents contents) {
    constexpr std::array<const char*, 3> kNames = {"AS_CALLED", "TORN", "RESULT"};
    const auto index = static_cast<size_t>(contents);
    return index < kNames.size() ? kNames.at(index) : "?";
}

std::string about(const Finding& finding) {
    std::string text = "hash=" + std::to_string(finding.hash) + " content=" + finding.content;
    if (!finding.value.empty()) text += " value=" + finding.value;
    return text;
}

}  // namespace

uint64_t now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void Diary::calls(const char* verb, const std::string& handed_in) const {
    write_line("call", verb, handed_in);
}

void Diary::ended_well(const char* verb, const pace_request_info& info, const Finding& finding,
                       uint64_t waited_ms) const {
    write_line("ok", verb,
               "ms=" + std::to_string(waited_ms) + " group=" + std::to_string(number_of(info)) +
                   " rounds=" + std::to_string(info.rounds) + " " + about(finding));
}

void Diary::ended(const char* verb, pace_status status, pace_contents contents, uint64_t waited_ms,
                  const char* message) const {
    write_line("end", verb,
               "ms=" + std::to_string(waited_ms) + " status=" + pace_status_name(status) +
                   " contents=" + name_of(contents) + " | " + message);
}

void Diary::inherited(const char* verb, uint64_t group, const Finding& finding) const {
    write_line("result", verb, "group=" + std::to_string(group) + " rounds=1 " + about(finding));
}

void Diary::reconnected(const char* verb, uint64_t from, uint64_t to) const {
    write_line("reconnected", verb, "from=" + std::to_string(from) + " to=" + std::to_string(to));
}

void Diary::owed(uint64_t group, double mass) const {
    write_line("owed", "residual_save",
               "group=" + std::to_string(group) + " mass=" + std::to_string(mass));
}

void Diary::blocked(const char* what, uint64_t ms) const {
    write_line("blocked", what, "ms=" + std::to_string(ms));
}

void Diary::slow(const char* verb, uint64_t waited_ms) const {
    write_line("slow", verb, "ms=" + std::to_string(waited_ms));
}

void Diary::wrong(const char* verb, const std::string& what) const {
    write_line("wrong", verb, "| " + what);
}

void Diary::write_line(const char* kind, const char* verb, const std::string& rest) {
    const std::string whole =
        std::string(kind) + " " + std::to_string(now_ns()) + " " + verb + " " + rest + "\n";
    // The storm is gone, so there is no reason to train any more.
    if (write(STDOUT_FILENO, whole.data(), whole.size()) < 0) std::exit(4);
}

}  // namespace pace::storms
