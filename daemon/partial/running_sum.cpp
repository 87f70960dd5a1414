#include "daemon/partial/running_sum.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "daemon/partial/accumulate.h"

namespace pace::partial {

using collectives::Layout;
using collectives::Segment;

namespace {

Layout widened(const Layout& layout) {
    std::vector<Segment> segments = layout.segments();
    for (Segment& segment : segments) segment.dtype = accumulator_of(segment.dtype);
    return Layout(std::move(segments));
}

}  // namespace

base::Result<RunningSum> RunningSum::begin(const Layout& layout, const std::byte* result) {
    RunningSum made;
    made.layout_ = layout;
    made.wide_ = widened(layout);
    made.sum_.reset(new (std::nothrow) std::byte[std::max<size_t>(1, made.wide_.bytes())]);
    if (made.sum_ == nullptr)
        return base::make_error(base::ErrorKind::memory,
                                "no memory for the {} bytes of what a late worker misses",
                                made.wide_.bytes());
    const std::vector<Segment>& segments = layout.segments();
    for (size_t s = 0; s < segments.size(); ++s)
        accumulate(segments[s].dtype, made.sum_.get() + made.wide_.offset(s),
                   result + layout.offset(s), segments[s].count, true);
    return made;
}

void RunningSum::add(const std::byte* result) {
    const std::vector<Segment>& segments = layout_.segments();
    for (size_t s = 0; s < segments.size(); ++s)
        accumulate(segments[s].dtype, sum_.get() + wide_.offset(s), result + layout_.offset(s),
                   segments[s].count, false);
}

void RunningSum::write(std::span<std::byte* const> segments) const {
    for (size_t s = 0; s < segments.size(); ++s)
        if (layout_.segments()[s].count > 0)
            round_to(layout_.segments()[s].dtype, sum_.get() + wide_.offset(s), segments[s],
                     layout_.segments()[s].count);
}

}  // namespace pace::partial
