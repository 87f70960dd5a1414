#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "sessions_fixture.h"

namespace pace_cpp {
namespace {

using BufferTest = SessionsFixture;

TEST_F(BufferTest, ElementsAreTyped) {
    pace::session session = open();
    const pace::buffer<double> doubles = session.make_buffer<double>(3);
    EXPECT_EQ(doubles.type(), pace::element::f64);
    EXPECT_EQ(doubles.size(), 3U);
    EXPECT_EQ(std::accumulate(doubles.begin(), doubles.end(), 0.0), 0.0);
    const pace::any_buffer& untyped = doubles;
    EXPECT_EQ(untyped.elements<double>().size(), 3U);
    EXPECT_TRUE(untyped.elements<float>().empty());
    EXPECT_EQ(session.make_buffer<std::uint32_t>(2).type(), pace::element::u32);
    EXPECT_EQ(session.make_buffer(pace::element::bf16, 2).elements<pace::bf16>().size(), 2U);
}

TEST_F(BufferTest, TellsOfItself) {
    pace::session session = open();
    const pace::buffer<float> buffer = session.make_buffer<float>(5);
    const pace::buffer_info told = buffer.info();
    EXPECT_EQ(told.count, 5U);
    EXPECT_EQ(told.elements_are(), pace::element::f32);
    EXPECT_EQ(told.data, buffer.data());
    EXPECT_FALSE(told.is_restored());
    EXPECT_FALSE(told.is_staged());
}

TEST_F(BufferTest, ElementsTravelAsWhatTheyAre) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    const pace::buffer<pace::f16> a = first.make_buffer<pace::f16>(1);
    const pace::buffer<pace::f16> b = second.make_buffer<pace::f16>(1);
    a.elements()[0] = pace::f16(1.0F);
    b.elements()[0] = pace::f16(3.0F);
    pace::request other = second.reduce(b);
    first.reduce(a).wait();
    other.wait();
    EXPECT_EQ(static_cast<float>(a.elements()[0]), 2.0F);
    EXPECT_EQ(static_cast<float>(b.elements()[0]), 2.0F);
}

TEST_F(BufferTest, MemoryOfTheTrainersOwnIsCopied) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    std::vector<float> own = {1, 2};
    const pace::buffer<float> imported = first.import_memory<float>(own);
    EXPECT_TRUE(imported.info().is_staged());
    const pace::buffer<float> shared = second.make_buffer<float>(2);
    shared.elements()[0] = 5;
    pace::request other = second.reduce(shared);
    first.reduce(imported).wait();
    other.wait();
    EXPECT_EQ(own, (std::vector<float>{3, 1}));
}

TEST_F(BufferTest, MemoryOfADescriptorIsShared) {
    pace::session session = open();
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t count = page / sizeof(float);
    const int descriptor = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    ASSERT_EQ(::ftruncate(descriptor, static_cast<off_t>(page)), 0);
    ASSERT_EQ(::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    const float written = 7;
    ASSERT_EQ(::pwrite(descriptor, &written, sizeof(written), 0),
              static_cast<ssize_t>(sizeof(written)));
    const pace::buffer<float> buffer = session.import_descriptor<float>(descriptor, count);
    ::close(descriptor);
    EXPECT_EQ(buffer.elements()[0], 7);
    EXPECT_EQ(buffer.size(), count);
}

TEST_F(BufferTest, ATensorOutlivesItsBufferAndSession) {
    for (const std::uint32_t major : {0U, 1U}) {
        pace::tensor tensor;
        {
            pace::session session = open();
            const pace::buffer<float> buffer = session.make_buffer<float>(3);
            buffer.elements()[2] = 4;
            tensor = buffer.to_dlpack(major);
        }
        EXPECT_EQ(tensor.size(), 3U);
        EXPECT_EQ(tensor.code(), 2);
        EXPECT_EQ(tensor.bits(), 32);
        EXPECT_TRUE(tensor.device().is_host());
        EXPECT_EQ(tensor.elements<float>()[2], 4);
        EXPECT_TRUE(tensor.elements<double>().empty());
        const pace::tensor moved(tensor.release(), tensor.major());
        EXPECT_FALSE(tensor);
        EXPECT_EQ(moved.elements<float>()[2], 4);
    }
}

TEST_F(BufferTest, AConsumerEndsATensorThatIsReleased) {
    struct Managed {  // DLManagedTensor
        unsigned char tensor[48];
        void* context;
        void (*deleter)(Managed*);
    };
    pace::session session = open();
    pace::tensor tensor = session.make_buffer<float>(3).to_dlpack();
    auto* managed = static_cast<Managed*>(tensor.release());
    EXPECT_FALSE(tensor);
    ASSERT_NE(managed, nullptr);
    managed->deleter(managed);
}

TEST_F(BufferTest, OneThatIsFreedIsRefused) {
    pace::session session = open();
    pace::buffer<float> buffer = session.make_buffer<float>(3);
    buffer.free();
    EXPECT_FALSE(buffer);
    EXPECT_EQ(buffer.data(), nullptr);
    EXPECT_THROW(session.reduce(buffer), pace::handle_error);
    buffer.free();  // does nothing
}

TEST_F(BufferTest, OneThatARequestNamesCannotBeFreedButCanBeLetGo) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    pace::buffer<float> buffer = first.make_buffer<float>(3);
    const pace::buffer<float> of_second = second.make_buffer<float>(3);
    pace::request request = first.reduce(buffer);
    EXPECT_THROW(buffer.free(), pace::invalid_error);
    EXPECT_TRUE(buffer);
    buffer = {};
    pace::request other = second.reduce(of_second);
    EXPECT_EQ(request.wait().member_count, 2U);
    other.wait();
}

TEST_F(BufferTest, OneOfAnotherSessionIsRefused) {
    pace::session first = open(0, 2);
    pace::session second = open(1, 2);
    EXPECT_THROW(first.reduce(second.make_buffer<float>(3)), pace::handle_error);
}

TEST_F(BufferTest, SlicesAreOneVector) {
    pace::session session = open();
    const pace::buffer<float> a = session.make_buffer<float>(4);
    const pace::buffer<float> b = session.make_buffer<float>(2);
    EXPECT_EQ(session.reduce({a, b}).wait().member_count, 1U);
    EXPECT_EQ(session.reduce({a.slice(1, 2), b.slice(1)}).wait().member_count, 1U);
    std::vector<pace::slice> many;
    for (std::uint64_t at = 0; at < 4; ++at) many.push_back(a.slice(at, 1));
    EXPECT_EQ(session.reduce(many).wait().member_count, 1U);
    EXPECT_THROW(session.reduce(a.slice(1, 9)), pace::invalid_error);
    EXPECT_THROW(session.reduce(std::vector<pace::slice>()), pace::invalid_error);
    EXPECT_THROW(session.reduce(std::vector<pace::slice>(300, a.slice(0, 1))), pace::invalid_error);
}

}  // namespace
}  // namespace pace_cpp
