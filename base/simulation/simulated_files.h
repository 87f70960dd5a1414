// SimulatedFiles: while one exists, it is asked before each step that is done to checkpoints and
// their folders. It may do the step itself, or have it fail.
//
// For tests, one at a time, in one thread. Without one, a step costs a look at a pointer.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace pace::base {

struct FileStep {
    enum class Kind : uint8_t {
        make_folder,
        sync_folder,
        list,  // the names in a folder
        create,
        write,  // at the end of the file that was created last under this path
        sync,
        rename,
        open,  // for reading
        read,
        remove,
    };
    Kind kind{};
    std::string_view path;
    std::string_view to{};               // of a rename
    std::span<const std::byte> bytes{};  // of a write
};

class SimulatedFiles;
namespace detail {
// Null: there is no simulation.
inline std::atomic<SimulatedFiles*> simulated_files{nullptr};
}  // namespace detail

class SimulatedFiles {
  public:
    static constexpr int kDone = -1;

    SimulatedFiles() { detail::simulated_files = this; }
    virtual ~SimulatedFiles() { detail::simulated_files = nullptr; }
    SimulatedFiles(const SimulatedFiles&) = delete;
    SimulatedFiles& operator=(const SimulatedFiles&) = delete;

    // 0: whoever asks does the step. kDone: it is done. Otherwise the errno with which it fails.
    virtual int before(const FileStep& step) = 0;
};

// Does a step that returns what a system call returns: below 0, errno says why.
template <typename Call>
auto file_step(const FileStep& step, Call call) -> decltype(call()) {
    SimulatedFiles* const simulated = detail::simulated_files.load(std::memory_order_relaxed);
    const int outcome = simulated == nullptr ? 0 : simulated->before(step);
    if (outcome == 0) return call();
    if (outcome == SimulatedFiles::kDone) return 0;
    errno = outcome;
    return -1;
}

}  // namespace pace::base
