// begin_thread: a thread, or std::bad_alloc: one that cannot begin, since there are too many or there is no memory for its stack, is memory
// that is not there (base/attempt.h).
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
