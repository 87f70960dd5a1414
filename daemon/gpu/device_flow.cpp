#include "daemon/gpu/device_flow.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pace::daemon {

using base::Result;
using base::Task;
using collectives::ByteRange;

namespace {

// A link of 25 GB/s copies the smallest piece in 80 us, a few times as long as it takes to learn
// that the piece has come. Larger pieces keep the link busier, and smaller ones begin to travel
// sooner. Guesses.
constexpr size_t kPieceBytesMin = size_t{2} << 20U;
constexpr size_t kPieceBytesMax = size_t{8} << 20U;
constexpr size_t kPiecesMin = 8;
constexpr size_t kPiecesUnderWay = 4;

size_t piece_bytes_of(size_t bytes) {
    size_t piece = kPieceBytesMin;
    while (piece < kPieceBytesMax && bytes / (2 * piece) >= kPiecesMin) piece *= 2;
    return piece;
}

}  // namespace

DeviceFlow::DeviceFlow(const std::vector<DeviceMember>& members, std::vector<Place> places,
                       collectives::Layout layout, const std::byte* result, Failed failed)
    : layout_(std::move(layout)),
      piece_bytes_(piece_bytes_of(layout_.bytes())),
      result_(result),
      failed_(std::move(failed)),
      places_(std::move(places)) {
    const ByteRange all{0, layout_.bytes()};
    for (size_t i = 0; i < collectives::chunk_count(all, piece_bytes_); ++i)
        pieces_.push_back({collectives::chunk_of(all, piece_bytes_, i)});
    for (const DeviceMember& member : members) landings_.push_back({member.contents});
}

// ------------------------------------------------------------------------------------- to the host

// How far into its block the piece is first needed.
size_t DeviceFlow::key_of(const Piece& piece, size_t blocks) const {
    const ByteRange all{0, layout_.bytes()};
    size_t key = all.size();
    for (size_t i = 0; i < blocks; ++i) {
        const ByteRange block = collectives::block_of(all, blocks, i);
        if (block.begin >= piece.range.end || block.end <= piece.range.begin) continue;
        key = std::min(key, std::max(block.begin, piece.range.begin) - block.begin);
    }
    return key;
}

void DeviceFlow::begin(size_t blocks, size_t /*strip_bytes*/) {
    std::vector<size_t> keys;
    keys.reserve(pieces_.size());
    for (const Piece& piece : pieces_) keys.push_back(key_of(piece, blocks));
    order_.resize(pieces_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&keys](size_t a, size_t b) { return keys[a] < keys[b]; });
    for (size_t member = 0; member < landings_.size(); ++member) go_on(member);
}

void DeviceFlow::go_on(size_t member) {
    Landing& landing = landings_[member];
    const DeviceLane& lane = *landing.contents->lane;
    while (!ended_ && !error_ && landing.under_way < kPiecesUnderWay &&
           landing.next < order_.size()) {
        const size_t piece = order_[landing.next++];
        const auto queued =
            lane.copy_piece_to_host(landing.contents->buffers, layout_, pieces_[piece].range);
        ++landing.under_way;
        lane.when_done({},
                       [keep = shared_from_this(), member, piece, queued](const Result<>& ended) {
                           keep->landed(member, piece, queued ? ended : queued);
                       });
    }
}

void DeviceFlow::landed(size_t member, size_t piece, const Result<>& result) {
    --landings_[member].under_way;
    if (result) {
        ++pieces_[piece].landed;
    } else {
        fail(result.error());
    }
    go_on(member);
    changed_.notify();
}

bool DeviceFlow::arrived(ByteRange range) const {
    for (size_t i = range.begin / piece_bytes_; i * piece_bytes_ < range.end; ++i)
        if (pieces_[i].landed < landings_.size()) return false;
    return true;
}

void DeviceFlow::fail(const base::Error& error) {
    if (error_) return;
    error_ = error;
    if (!ended_) failed_(error);
}

void DeviceFlow::wake() {
    const auto keep = shared_from_this();
    changed_.notify();
}

// ---------------------------------------------------------------------------------- and back again

void DeviceFlow::finished(ByteRange range) {
    for (size_t i = range.begin / piece_bytes_; i * piece_bytes_ < range.end; ++i) {
        Piece& piece = pieces_[i];
        piece.finished +=
            std::min(range.end, piece.range.end) - std::max(range.begin, piece.range.begin);
        if (piece.finished == piece.range.size()) give_back(piece);
    }
}

void DeviceFlow::give_back(const Piece& piece) {
    for (const auto& [lane, memory] : places_) {
        const base::cuda::CudaDriver& driver = lane->device().driver();
        const auto scope = lane->device().enter();
        const auto queued = driver.check(
            driver.copy_to_device(memory->address() + piece.range.begin,
                                  result_ + piece.range.begin, piece.range.size(), lane->returns()),
            "copy to a GPU");
        if (!queued) fail(queued.error());
    }
}

// Copies the result to the member's buffers, from its place on the member's GPU.
Result<> DeviceFlow::give_to(const Landing& landing) {
    DeviceContents& contents = *landing.contents;
    const DeviceLane& lane = *contents.lane;
    const auto place = std::find_if(places_.begin(), places_.end(), [&](const Place& one) {
        return &one.lane->device() == &lane.device();
    });
    contents.queued = true;
    PACE_TRY(lane.copy_on_device(contents.buffers, layout_, place->memory->address()));
    lane.when_done({}, [memory = place->memory](const Result<>&) {});
    contents.made = true;
    return {};
}

bool DeviceFlow::is_copying() const {
    return std::any_of(landings_.begin(), landings_.end(),
                       [](const Landing& landing) { return landing.under_way > 0; });
}

// Ends when all copies to the GPUs have ended.
Task<Result<>> DeviceFlow::returned() {
    size_t waits = places_.size();
    Result<> all;
    for (const Place& place : places_) {
        place.lane->device().when_done(place.lane->returns(), [keep = shared_from_this(), &waits,
                                                               &all](const Result<>& ended) {
            if (!ended) all = ended;
            --waits;
            keep->changed_.notify();
        });
    }
    while (waits > 0) co_await changed_.changed();
    co_return all;
}

Task<Result<>> DeviceFlow::settle(Result<> sum) {
    ended_ = true;
    while (is_copying()) co_await changed_.changed();
    if (const Result<> copied = co_await returned(); !copied) fail(copied.error());
    const bool all_landed = arrived({0, layout_.bytes()});
    for (const Landing& landing : landings_) {
        landing.contents->on_host = !sum && all_landed;
        if (!sum || error_) continue;
        if (const auto given = give_to(landing); !given) fail(given.error());
    }
    if (sum && error_) co_return *error_;
    co_return sum;
}

}  // namespace pace::daemon
