// Network: places of this machine with network stacks of their own. A switch joins the places. The
// switch can cut any place from any other without a notice to either end.
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

    // Returns why no network can be made here, or nothing if one can be made. Namespaces and TAP
    // devices need root.
    static std::optional<std::string> absence();

    explicit Network(size_t places);
    ~Network();
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    std::string address(size_t place) const { return "10.77.0." + std::to_string(place + 1); }

    // Returns the arguments as a command that runs at the place.
    std::vector<std::string> at(size_t place, std::vector<std::string> arguments) const;

    // From now on, frames from `from` to `to` are lost.
    void cut_one_way(size_t from, size_t to) { lost_[from][to] = true; }
    // From now on, frames between the two places are lost in both directions.
    void cut(size_t one, size_t other);
    // From now on, all frames to or from the place are lost.
    void isolate(size_t place);
    void mend();

  private:
    struct Place {
        // The namespace of the place. It lives as long as this object and its processes.
        base::UniqueFd stack;
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
