// WriteMark: tells a request's trainer, should this daemon die, what the request's buffers hold.
// The session implements it.
#pragma once

#include <memory>
#include <vector>

namespace pace::daemon {

class WriteMark {
  public:
    virtual ~WriteMark() = default;

    // The buffers are about to be written (writing), or have not been written after all
    // (untouched).
    virtual void writing() = 0;
    virtual void untouched() = 0;
    // The buffers hold the whole result.
    virtual void whole() = 0;
};

using WriteMarkPtr = std::shared_ptr<WriteMark>;  // null: nobody looks
using WriteMarkList = std::vector<WriteMarkPtr>;

inline void tell_writing(const WriteMarkPtr& mark) {
    if (mark) mark->writing();
}
inline void tell_untouched(const WriteMarkPtr& mark) {
    if (mark) mark->untouched();
}
inline void tell_whole(const WriteMarkPtr& mark) {
    if (mark) mark->whole();
}
inline void tell_writing(const WriteMarkList& marks) {
    for (const WriteMarkPtr& mark : marks) tell_writing(mark);
}
inline void tell_whole(const WriteMarkList& marks) {
    for (const WriteMarkPtr& mark : marks) tell_whole(mark);
}

}  // namespace pace::daemon
