// Objects: the objects that the driver has made, by the names that cases give.
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

// Zeroed memory of the driver's own for an imported buffer. The memory is aligned for every type of
// element.
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

// The objects of one kind. Any thread may use a Named. An object that a caller has got stays valid,
// even if another object gets its name meanwhile.
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
    // Stores the thing under the name. The thing that had the name before is released.
    std::shared_ptr<Thing> put(const std::string& name, Thing thing) {
        auto made = std::make_shared<Thing>(std::move(thing));
        // The old thing is released without the lock: releasing a request waits for its end.
        std::shared_ptr<Thing> before = made;
        const std::lock_guard<std::mutex> guard(mutex_);
        std::swap(things_[name], before);
        return made;
    }
    // Removes the name. Returns whether there was such a name.
    bool drop(const std::string& name) {
        std::shared_ptr<Thing> before;
        const std::lock_guard<std::mutex> guard(mutex_);
        const auto found = things_.find(name);
        if (found == things_.end()) return false;
        std::swap(found->second, before);
        things_.erase(found);
        return true;
    }
    // Returns the name of the first thing for which `is_it` is true, or "".
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
