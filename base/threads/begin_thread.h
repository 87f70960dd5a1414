// begin_thread: begins a thread, or throws std::bad_alloc. A thread cannot begin if there are too
// many threads or if there is no memory for its stack. Both cases count as missing memory
// (base/attempt.h).
#pragma once

#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace pace::base {

template <typename Work>
std::thread begin_thread(Work&& work) {
    try {
        return std::thread(std::forward<Work>(work));
    } catch (const std::system_error&) {
        throw std::bad_alloc();
    }
}

}  // namespace pace::base
