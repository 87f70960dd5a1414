// DeviceFlow: the copies of a sum among nodes whose members here have their buffers on GPUs, made
// in pieces while the sum travels. Pieces go from the GPU to the host twins as the sum needs them,
// and from the sum's scratch to other GPU memory as they become final, both ways at once.
//
// As in all exchanges, buffers are not written before the whole result has arrived. Then the result
// is copied to them on the GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/layout/flow.h"
#include "daemon/collectives/layout/layout.h"
#include "daemon/gpu/device_sum.h"

namespace pace::daemon {

class DeviceFlow final : public collectives::Flow, public std::enable_shared_from_this<DeviceFlow> {
  public:
    using Failed = std::function<void(const base::Error&)>;

    // Memory on one of the members' GPUs that gets the result, and the lane of one of the members.
    struct Place {
        std::shared_ptr<DeviceLane> lane;
        std::shared_ptr<device::DeviceMemory> memory;
    };

    // `places`: one for each GPU, of layout.bytes(). `result`: where the sum forms, layout.bytes()
    // of pinned memory that outlives this. `failed` is called at most once, when a GPU fails before
    // settle().
    DeviceFlow(const std::vector<DeviceMember>& members, std::vector<Place> places,
               collectives::Layout layout, const std::byte* result, Failed failed);

    void begin(size_t blocks, size_t strip_bytes) override;
    bool arrived(collectives::ByteRange range) const override;
    collectives::Signal::Awaiter changed() override { return changed_.changed(); }
    void finished(collectives::ByteRange range) override;

    // The sum has been given up: waiting coroutines look again.
    void wake();
    // Called after the sum, with its result. Ends when no copy between host and GPUs is under way
    // any more. If all is well, the result is then queued to the members' buffers; otherwise the
    // buffers are as they were. Returns the sum's error, or that of a copy.
    base::Task<base::Result<>> settle(base::Result<> sum);

    // A GPU has failed, so that the contents of its buffers are unknown.
    bool lost() const { return error_.has_value(); }

  private:
    struct Piece {
        collectives::ByteRange range;
        size_t landed = 0;    // members whose copies have landed
        size_t finished = 0;  // bytes
    };
    // One member's copies to the host.
    struct Landing {
        std::shared_ptr<DeviceContents> contents;
        size_t next = 0;  // in order_
        size_t under_way = 0;
    };

    size_t key_of(const Piece& piece, size_t blocks) const;
    void go_on(size_t member);
    void landed(size_t member, size_t piece, const base::Result<>& result);
    void give_back(const Piece& piece);
    base::Result<> give_to(const Landing& landing);
    void fail(const base::Error& error);
    base::Task<base::Result<>> returned();
    bool is_copying() const;

    collectives::Layout layout_;
    size_t piece_bytes_;
    const std::byte* result_;
    Failed failed_;
    std::vector<Piece> pieces_;
    std::vector<size_t> order_;  // of pieces, in the order in which they are needed
    std::vector<Landing> landings_;
    std::vector<Place> places_;
    bool ended_ = false;  // no further piece is needed
    std::optional<base::Error> error_;
    collectives::Signal changed_;
};

}  // namespace pace::daemon
