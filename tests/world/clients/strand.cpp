#include "tests/world/clients/strand.h"

#include <utility>

namespace pace::world {

Strand::Strand(std::function<void()> main) : main_(std::move(main)) {
    thread_ = std::thread([this] {
        runs_.acquire();
        try {
            if (!killed_) main_();
        } catch (const Killed&) {
        }
        ended_ = true;
        rests_.release();
    });
}

Strand::~Strand() {
    kill();
    thread_.join();
}

void Strand::resume() {
    if (ended_) return;
    runs_.release();
    rests_.acquire();
}

void Strand::kill() {
    killed_ = true;
    resume();
}

void Strand::rest() {
    rests_.release();
    runs_.acquire();
    if (killed_) throw Killed();
}

}  // namespace pace::world
