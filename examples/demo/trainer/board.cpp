#include "board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace demo {

struct Board::Head {
    uint32_t workers = 0;
    uint64_t parameters = 0;
    sem_t news{};  // posted at the start and for each model that a worker hands in
    std::atomic<int64_t> started_ns;
    std::atomic<uint64_t> wanted;
    std::atomic<bool> stop;
};

namespace {

void fail(const std::string& path, const std::string& what) {
    throw std::runtime_error(fmt::format("board {}: {}", path, what));
}

void* map_file(const std::string& path, int fd, size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const int reason = errno;
    close(fd);
    if (memory == MAP_FAILED) fail(path, std::strerror(reason));
    return memory;
}

size_t board_bytes(size_t head, uint32_t workers, uint64_t parameters) {
    return head + workers * (sizeof(BoardSlot) + parameters * sizeof(float));
}

constexpr size_t kHeadBytes = 256;

}  // namespace

int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

Board::Board(void* memory, size_t bytes)
    : bytes_(bytes),
      head_(static_cast<Head*>(memory)),
      slots_(reinterpret_cast<BoardSlot*>(static_cast<char*>(memory) + kHeadBytes)) {}

Board::Board(Board&& other) noexcept
    : bytes_(other.bytes_), head_(std::exchange(other.head_, nullptr)), slots_(other.slots_) {}

Board::~Board() {
    if (head_ != nullptr) munmap(head_, bytes_);
}

Board Board::create(const std::string& path, uint32_t workers, uint64_t parameters) {
    static_assert(sizeof(Head) <= kHeadBytes);
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) fail(path, std::strerror(errno));
    const size_t bytes = board_bytes(kHeadBytes, workers, parameters);
    // The code uses posix_fallocate and not ftruncate. So a full disk is an error here, not a
    // SIGBUS later.
    if (const int reason = posix_fallocate(fd, 0, static_cast<off_t>(bytes)); reason != 0) {
        close(fd);
        fail(path, std::strerror(reason));
    }
    Board board(map_file(path, fd, bytes), bytes);
    new (board.head_) Head;
    board.head_->workers = workers;
    board.head_->parameters = parameters;
    for (uint32_t rank = 0; rank < workers; ++rank) new (&board.slots_[rank]) BoardSlot{};
    if (sem_init(&board.head_->news, 1, 0) != 0) fail(path, std::strerror(errno));
    return board;
}

Board Board::open(const std::string& path, uint32_t workers, uint64_t parameters) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) fail(path, std::strerror(errno));
    const size_t bytes = board_bytes(kHeadBytes, workers, parameters);
    struct stat info = {};
    if (fstat(fd, &info) != 0 || static_cast<size_t>(info.st_size) != bytes) {
        close(fd);
        fail(path, "made for another number of workers or parameters");
    }
    return {map_file(path, fd, bytes), bytes};
}

uint32_t Board::workers() const {
    return head_->workers;
}

std::span<float> Board::model(uint32_t rank) const {
    auto* models = reinterpret_cast<float*>(slots_ + head_->workers);
    return {models + rank * head_->parameters, head_->parameters};
}

int64_t Board::started_ns() const {
    return head_->started_ns;
}
bool Board::should_stop() const {
    return head_->stop;
}
void Board::stop() {
    head_->stop = true;
}
void Board::ask_for_models() {
    ++head_->wanted;
}

void Board::start() {
    head_->started_ns = now_ns();
    sem_post(&head_->news);
}

void Board::hand_in(uint32_t rank, std::span<const float> parameters) {
    BoardSlot& slot = slots_[rank];
    const uint64_t wanted = head_->wanted;
    if (slot.handed_in == wanted) return;
    std::copy(parameters.begin(), parameters.end(), model(rank).begin());
    slot.handed_in_ns = now_ns();
    slot.handed_in = wanted;
    sem_post(&head_->news);
}

void Board::wait_for_start() {
    while (head_->started_ns == 0) sem_wait(&head_->news);
}

void Board::wait_for_models() {
    const auto all_are_in = [this] {
        return std::all_of(slots_, slots_ + head_->workers, [this](const BoardSlot& slot) {
            return slot.handed_in == head_->wanted;
        });
    };
    while (!all_are_in()) sem_wait(&head_->news);
}

}  // namespace demo
