// Objects: what the driver has made, by the names that cases give.
#pragma once

#include <pace/pace.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"

namespace spec {

// Zeroed memory of the driver's own, which an imported buffer uses; aligned for every element.
class OwnMemory {
  public:
    explicit OwnMemory(std::size_t bytes) : numbers_(bytes / sizeof(double) + 1) {}
    void* data() { return numbers_.data(); }

  private:
    std::vector<double> numbers_;
};

struct Buffer {
    std::unique_ptr<OwnMemory> own;  // outlives the buffer in it
    pace::any_buffer buffer;
};

// Things of one kind. Threads: any. What a caller has got stays, even if its name is given to another meanwhile.
template <class Thing>
class Named {
  public:
    explicit Named(std::string kind) : kind_(std::move(kind)) {}

    std::shared_ptr<Thing> find(const std::string& name) const {
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto found = things_.find(name);
        if (found == things_.end()) throw Broken("there is no " + kind_ + " " + name);
        return found->second;
    }
    // What had the name is let go of.
    std::shared_ptr<Thing> put(const std::string& name, Thing thing) {
        auto made = std::make_shared<Thing>(std::move(thing));
        std::shared_ptr<Thing> before =
            made;  // let go of without the lock: a request waits for its end then
        const std::lock_guard<std::mutex> guard(mutex_);
        std::swap(things_[name], before);
        return made;
    }
    // Whether there was such a name.
    bool drop(const std::string& name) {
        std::shared_ptr<Thing> before;
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto found = things_.find(name);
        if (found == things_.end()) return false;
        std::swap(found->second, before);
        things_.erase(found);
        return true;
    }
    // The name of the first of which `is_it` is true, or "".
    template <class Question>
    std::string name_of(const Question& is_it) const {
        const std::lock_guard<std::mutex> guard(mutex_);
        for (const auto& [name, thing] : things_)
            if (is_it(*thing)) return name;
        return "";
    }

  private:
    std::string kind_;
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Thing>> things_;
};

struct Objects {
    Named<pace::session> sessions{"session"};
    Named<Buffer> buffers{"buffer"};
    Named<pace::request> requests{"request"};
    Named<pace::tensor> tensors{"tensor"};
};

}  // namespace spec
