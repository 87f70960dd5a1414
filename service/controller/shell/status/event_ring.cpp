#include "service/controller/shell/status/event_ring.h"

#include <algorithm>
#include <utility>

namespace pace::controller {
namespace {

size_t bytes_of(const Note& note) {
    return note.event.size() + note.detail.size() + note.about.job.size() + note.about.node.size();
}

// Cuts the text to at most `bytes_max`, never within a UTF-8 character.
void cut(std::string& text, size_t bytes_max) {
    if (text.size() <= bytes_max) return;
    size_t end = bytes_max;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text.resize(end);
}

}  // namespace

void EventRing::forget(const std::deque<Event>::const_iterator& event) {
    const auto kind = of_kind_.find(event->note.event);
    if (--kind->second == 0) of_kind_.erase(kind);
    bytes_ -= bytes_of(event->note);
    events_.erase(event);
}

void EventRing::forget_oldest_of(const std::string& kind) {
    const auto oldest = std::find_if(events_.begin(), events_.end(), [&kind](const Event& event) {
        return event.note.event == kind;
    });
    forget(oldest);
}

void EventRing::add(Note note, int64_t at_unix_ms) {
    cut(note.detail, kTextBytesMax);
    cut(note.event, kTextBytesMax);
    if (of_kind_[note.event] >= kOfAKindMax) forget_oldest_of(note.event);
    ++of_kind_[note.event];
    bytes_ += bytes_of(note);
    events_.push_back({next_++, at_unix_ms, std::move(note)});
    while (events_.size() > kEventsMax || bytes_ > kBytesMax) forget(events_.begin());
}

}  // namespace pace::controller
