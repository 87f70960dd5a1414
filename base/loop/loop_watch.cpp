#include "base/loop/loop_watch.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "base/unique_fd.h"

namespace pace::base {

namespace {

// Returns how long the calling thread has waited for a processor so far. That time is the second of
// the three numbers in the file. Returns zero if the kernel does not tell the time.
Duration waited_for_processor() {
    const UniqueFd file(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    std::array<char, 128> text{};
    const ssize_t size = file.valid() ? read(file.get(), text.data(), text.size()) : -1;
    if (size <= 0) return {};
    const std::string_view numbers(text.data(), static_cast<size_t>(size));
    const size_t space = numbers.find(' ');
    if (space == std::string_view::npos) return {};
    int64_t nanoseconds = 0;
    std::from_chars(numbers.data() + space + 1, numbers.data() + numbers.size(), nanoseconds);
    return Duration(nanoseconds);
}

}  // namespace

std::string Origin::text() const {
    const std::string_view path(file);
    return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), line);
}

void LoopWatch::sample(TimePoint at) {
    sampled_ = at;
    waited_ = waited_for_processor();
}

void LoopWatch::judge(Duration took, TimePoint at, Origin origin) {
    const Duration before = waited_;
    sample(at);
    took -= std::clamp(waited_ - before, Duration::zero(), took);
    const bool is_long = took >= kLong;
    if (took <= longest_.took && !is_long) return;
    const Step step{took, origin.text()};
    if (took > longest_.took) longest_ = step;
    if (!is_long) return;
    ++long_steps_;
    if (handler_) handler_(step);
}

}  // namespace pace::base
