// What a process that is killed leaves to another one: waits for what its streams would have done,
// and its memory.
#include <algorithm>
#include <vector>

#include "base/cuda/cuda_mapping.h"
#include "base/cuda/stream_words.h"
#include "tests/gpu/probe/facts.h"
#include "tests/gpu/probe/gpu.h"

namespace pace::gpu_probe {

using base::Result;
using base::UniqueFd;
using namespace base::cuda;  // the driver's own names

namespace {

constexpr std::chrono::seconds kWaitMax{5};
constexpr size_t kBytes = size_t{1} << 20U;
constexpr unsigned char kPattern = 0x5A;

std::string text_of_wait(const std::optional<double>& took) {
    if (!took) return fmt::format("still waits {} s after the death", kWaitMax.count());
    return fmt::format("goes on {:.1f} ms after the death", *took);
}

// Records an event behind work that never ends.
Result<> share_an_event_that_never_comes(Line& line) {
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(words, StreamWords::create(gpu.driver(), 1));
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY_ASSIGN(event, gpu.event(kEventInterprocess));
    PACE_TRY(gpu.check(words.wait(stream, words.at(0).ended, 1), "wait for a word"));
    PACE_TRY(gpu.check(gpu.driver().event_record(event, stream), "record an event"));
    CUipcEventHandle handle{};
    PACE_TRY(gpu.check(gpu.driver().ipc_get_event_handle(&handle, event), "share an event"));
    PACE_TRY(line.send(handle));
    (void)line.receive<char>();
    return {};
}

struct Allocation {
    size_t bytes = 0;
};

Result<> leave_memory(Line& line) {
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY_ASSIGN(bytes, rounded_for(gpu.driver(), gpu.device(), kBytes));
    CUmemAllocationProp wanted{};
    wanted.type = kAllocationPinned;
    wanted.requestedHandleTypes = kHandleFd;
    wanted.location = {kLocationDevice, gpu.device()};
    CUmemGenericAllocationHandle memory = 0;
    PACE_TRY(gpu.check(gpu.driver().mem_create(&memory, bytes, &wanted, 0), "make memory"));
    int descriptor = -1;
    PACE_TRY(
        gpu.check(gpu.driver().mem_export(&descriptor, memory, kHandleFd, 0), "export memory"));
    const UniqueFd exported(descriptor);
    PACE_TRY_ASSIGN(mapping,
                    CudaMapping::import(gpu.driver(), gpu.device(), exported.get(), bytes));
    PACE_TRY(gpu.check(gpu.driver().set_bytes(mapping.address(), kPattern, bytes, stream),
                       "set memory"));
    PACE_TRY(gpu.check(gpu.driver().stream_synchronize(stream), "wait for a stream"));
    PACE_TRY(line.send(Allocation{bytes}, exported.get()));
    (void)line.receive<char>();
    return {};
}

Result<> leave_a_handle(Line& line) {
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    CUdeviceptr memory = 0;
    PACE_TRY(gpu.check(gpu.driver().mem_alloc(&memory, kBytes), "make memory"));
    CUipcMemHandle handle{};
    PACE_TRY(gpu.check(gpu.driver().ipc_get_mem_handle(&handle, memory), "name memory"));
    PACE_TRY(line.send(handle));
    (void)line.receive<char>();
    return {};
}

}  // namespace

Told wait_for_an_event_of_the_dead() {
    Partner partner(Where::here, share_an_event_that_never_comes);
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY_ASSIGN(handle, partner.line().receive<CUipcEventHandle>());
    CUevent event = nullptr;
    PACE_TRY(gpu.check(gpu.driver().ipc_open_event_handle(&event, handle), "open an event"));
    PACE_TRY(gpu.check(gpu.driver().stream_wait_event(stream, event, 0), "wait for an event"));
    PACE_TRY_ASSIGN(mark, gpu.mark(stream));
    if (gpu.driver().event_query(mark) == kSuccess) return std::string("does not wait at all");
    partner.kill();
    return text_of_wait(gpu.await(mark, kWaitMax));
}

Told wait_for_a_word_of_the_dead() {
    Partner partner(Where::here, [](Line& line) -> Result<> {
        PACE_TRY(line.receive<char>());
        PACE_TRY(Gpu::open());
        return line.send_text("");
    });
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(words, StreamWords::create(gpu.driver(), 1));
    PACE_TRY_ASSIGN(stream, gpu.stream());
    PACE_TRY(partner.line().send('.', words.fd()));
    PACE_TRY(gpu.check(words.wait(stream, words.at(0).ended, 1), "wait for a word"));
    PACE_TRY_ASSIGN(mark, gpu.mark(stream));
    if (gpu.driver().event_query(mark) == kSuccess) return std::string("does not wait at all");
    partner.kill();
    words.at(0).ended = StreamWords::kReleased;
    return text_of_wait(gpu.await(mark, kWaitMax)) + ", once this process has stored the word";
}

Told memory_of_the_dead() {
    Partner partner(Where::here, leave_memory);
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(stream, gpu.stream());
    UniqueFd descriptor;
    PACE_TRY_ASSIGN(left, partner.line().receive<Allocation>(&descriptor));
    partner.kill();
    PACE_TRY_ASSIGN(mapping,
                    CudaMapping::import(gpu.driver(), gpu.device(), descriptor.get(), left.bytes));
    std::vector<unsigned char> seen(kBytes);
    PACE_TRY(gpu.check(gpu.driver().copy_to_host(seen.data(), mapping.address(), kBytes, stream),
                       "copy from the GPU"));
    PACE_TRY(gpu.check(gpu.driver().stream_synchronize(stream), "wait for a stream"));
    const bool is_whole =
        std::all_of(seen.begin(), seen.end(), [](unsigned char byte) { return byte == kPattern; });
    return std::string(is_whole ? "is there, with its contents" : "is there, with other contents");
}

Told handle_of_the_dead() {
    Partner partner(Where::here, leave_a_handle);
    PACE_TRY_ASSIGN(gpu, Gpu::open());
    PACE_TRY_ASSIGN(handle, partner.line().receive<CUipcMemHandle>());
    partner.kill();
    CUdeviceptr memory = 0;
    PACE_TRY(gpu.check(gpu.driver().ipc_open_mem_handle(&memory, handle, kIpcLazyPeerAccess),
                       "open the memory"));
    return std::string("opens");
}

}  // namespace pace::gpu_probe
