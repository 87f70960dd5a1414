// Network: places of this machine with network stacks of their own, joined by a switch on which anything can be cut from
// anything without either end being told.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"

namespace pace::cluster {

class Network {
  public:
    static constexpr size_t kPlacesMax = 16;
    static constexpr const char* kSubnet = "10.77.0.0/24";

    // Why no network can be made here; nothing if one can. Namespaces and TAP devices take root.
    static std::optional<std::string> absence();

    explicit Network(size_t places);
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    std::string address(size_t place) const { return "10.77.0." + std::to_string(place + 1); }

    // The arguments, as a command that runs there.
    std::vector<std::string> at(size_t place, std::vector<std::string> arguments) const;

    // What `from` sends to `to` is lost from now on,
    void cut_one_way(size_t from, size_t to) { lost_[from][to] = true; }
    // and what `to` sends,
    void cut(size_t one, size_t other);
    // and what anybody sends to or from the place.
    void isolate(size_t place);
    void mend();

  private:
    struct Place {
        base::UniqueFd stack;  // its namespace, which lives as long as this and its processes
        base::UniqueFd tap;
    };

    static Place make_place(size_t number);
    void run();
    void forward(size_t from, const std::byte* frame, size_t size) const;

    std::vector<Place> places_;
    std::array<std::array<std::atomic<bool>, kPlacesMax>, kPlacesMax> lost_{};
    base::UniqueFd ended_;
    std::thread switch_;
};

}  // namespace pace::cluster
