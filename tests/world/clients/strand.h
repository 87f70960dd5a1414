// Strand: the thread of a simulated process that is written as a program that waits. It runs only
// while the world lets it: one thread runs at any time.
#pragma once

#include <functional>
#include <semaphore>
#include <thread>

namespace pace::world {

class Strand {
  public:
    // Thrown in a process that is killed.
    struct Killed {};

    explicit Strand(std::function<void()> main);
    // Kills the process, if it lives.
    ~Strand();
    Strand(const Strand&) = delete;
    Strand& operator=(const Strand&) = delete;

    // The world: lets the process run until it rests or ends.
    void resume();
    // The world: what the process had is given back, and it has ended.
    void kill();
    bool has_ended() const { return ended_; }

    // The process: gives way to the world until it is resumed.
    void rest();

  private:
    std::function<void()> main_;
    std::binary_semaphore runs_{0};
    std::binary_semaphore rests_{0};
    bool killed_ = false;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace pace::world
