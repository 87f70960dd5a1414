#include "daemon/server/packed_file.h"

#include <sys/resource.h>

#include <csignal>
#include <numeric>

#include <gtest/gtest.h>

#include "daemon/server/tests/test_folder.h"

namespace pace::server {
namespace {

using base::ErrorKind;

std::vector<uint32_t> counting(size_t count) {
    std::vector<uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0U);
    return numbers;
}

void write_file(const std::string& path, const std::vector<uint32_t>& numbers) {
    auto file = PackedWriter::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->write(std::as_bytes(std::span(numbers))));
    ASSERT_TRUE((*file)->commit());
}

base::Result<> read_file(const std::string& path, std::vector<uint32_t>& ret_numbers) {
    PACE_TRY_ASSIGN(file, PackedReader::open(path));
    PACE_TRY(file->read(std::as_writable_bytes(std::span(ret_numbers))));
    return file->finish();
}

TEST(PackedFile, GivesBackWhatWasWritten) {
    const TestFolder folder;
    for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}, size_t{1000000}}) {
        const std::vector<uint32_t> numbers = counting(count);
        write_file(folder.path("file"), numbers);
        std::vector<uint32_t> read(count);
        const auto result = read_file(folder.path("file"), read);
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_EQ(read, numbers);
        EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
    }
}

TEST(PackedFile, WhatIsNotCommittedLeavesTheOldOne) {
    const TestFolder folder;
    write_file(folder.path("file"), counting(10));
    {
        auto file = PackedWriter::create(folder.path("file"));
        ASSERT_TRUE(file);
        const std::vector<uint32_t> numbers = counting(500000);
        ASSERT_TRUE((*file)->write(std::as_bytes(std::span(numbers))));
        EXPECT_EQ(folder.names().size(), 2U);
    }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
    std::vector<uint32_t> read(10);
    EXPECT_TRUE(read_file(folder.path("file"), read));
}

TEST(PackedFile, EveryBitThatIsNotAsWrittenIsNoticed) {
    const TestFolder folder;
    write_file(folder.path("file"), counting(300));
    const std::vector<char> good = folder.read("file");
    for (size_t at = 0; at < good.size(); ++at) {
        std::vector<char> bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 0x10);
        folder.write("bad", bad);
        std::vector<uint32_t> read(300);
        const auto result = read_file(folder.path("bad"), read);
        EXPECT_TRUE(!result || read == counting(300)) << "byte " << at;
        if (result) continue;
        EXPECT_EQ(result.error().kind, ErrorKind::corrupt) << result.error().message;
    }
}

TEST(PackedFile, EveryShorterOrLongerFileIsNoticed) {
    const TestFolder folder;
    write_file(folder.path("file"), counting(300));
    std::vector<char> bytes = folder.read("file");
    bytes.push_back('x');
    for (size_t size = 0; size <= bytes.size(); ++size) {
        if (size + 1 == bytes.size()) continue;  // the unchanged file
        folder.write("bad", {bytes.begin(), bytes.begin() + static_cast<long>(size)});
        std::vector<uint32_t> read(300);
        const auto result = read_file(folder.path("bad"), read);
        ASSERT_FALSE(result) << size << " bytes";
        EXPECT_EQ(result.error().kind, ErrorKind::corrupt);
        EXPECT_NE(result.error().message.find("older checkpoint"), std::string::npos);
    }
}

TEST(PackedFile, MoreOrFewerElementsThanThereAreAreNoticed) {
    const TestFolder folder;
    write_file(folder.path("file"), counting(300));
    std::vector<uint32_t> more(301);
    std::vector<uint32_t> fewer(299);
    EXPECT_EQ(read_file(folder.path("file"), more).error().kind, ErrorKind::corrupt);
    EXPECT_EQ(read_file(folder.path("file"), fewer).error().kind, ErrorKind::corrupt);
}

TEST(PackedFile, AFullDiskIsSaidAndLeavesNothing) {
    const TestFolder folder;
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto old = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit little{4096, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
    const std::vector<uint32_t> numbers = counting(1000000);
    base::Result<> result;
    {
        auto file = PackedWriter::create(folder.path("file"));
        ASSERT_TRUE(file);
        result = (*file)->write(std::as_bytes(std::span(numbers)));
        if (result) result = (*file)->commit();
    }
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::disk) << result.error().message;
    EXPECT_TRUE(folder.names().empty());
}

TEST(PackedFile, AFolderThatIsNotThereIsNamed) {
    const TestFolder folder;
    const auto file = PackedWriter::create(folder.path("no/such"));
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find("no/such"), std::string::npos);
    EXPECT_FALSE(PackedReader::open(folder.path("absent")));
    EXPECT_EQ(PackedReader::open(folder.path()).error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace pace::server
