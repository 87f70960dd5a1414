// Fields of journal records: integers are little-endian, and a string is its length and its bytes.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pace::controller {

class FieldWriter {
  public:
    template <std::unsigned_integral T>
    void put(T value) {
        for (size_t i = 0; i < sizeof(T); ++i) {
            bytes_.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
        }
    }
    template <typename E>
        requires std::is_enum_v<E>
    void put(E value) {
        put(static_cast<uint8_t>(value));
    }
    void put(int64_t value) { put(static_cast<uint64_t>(value)); }
    void put(double value) { put(std::bit_cast<uint64_t>(value)); }
    void put(const std::string& text) {
        put(static_cast<uint16_t>(text.size()));
        for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    }

    void put(const std::vector<uint8_t>& bytes) {
        put(static_cast<uint32_t>(bytes.size()));
        for (const uint8_t byte : bytes) put(byte);
    }

    std::vector<std::byte> take() { return std::move(bytes_); }

  private:
    std::vector<std::byte> bytes_;
};

// Reads fields. After the first missing field all fields read as zero and ok() is false.
class FieldReader {
  public:
    explicit FieldReader(std::span<const std::byte> bytes) : bytes_(bytes) { get(version_); }

    // The record's version, which is its first byte.
    uint8_t version() const { return version_; }

    template <std::unsigned_integral T>
    void get(T& ret_value) {
        ret_value = 0;
        if (!has(sizeof(T))) return;
        uint64_t value = 0;
        for (size_t i = 0; i < sizeof(T); ++i) {
            value |= static_cast<uint64_t>(bytes_[i]) << (8 * i);
        }
        ret_value = static_cast<T>(value);
        bytes_ = bytes_.subspan(sizeof(T));
    }
    void get(std::string& ret_text) {
        uint16_t size = 0;
        get(size);
        ret_text.clear();
        if (!has(size)) return;
        for (const std::byte b : bytes_.first(size)) ret_text.push_back(static_cast<char>(b));
        bytes_ = bytes_.subspan(size);
    }
    // Reads an enumeration from 1 to `last`.
    template <typename E>
    void get(E& ret_value, E last) {
        uint8_t number = 0;
        get(number);
        if (number == 0 || number > static_cast<uint8_t>(last)) ok_ = false;
        ret_value = ok_ ? static_cast<E>(number) : last;
    }

    void get(std::vector<uint8_t>& ret_bytes) {
        uint32_t size = 0;
        get(size);
        ret_bytes.clear();
        if (!has(size)) return;
        ret_bytes.resize(size);
        for (uint8_t& byte : ret_bytes) get(byte);
    }

    void get(int64_t& ret_value) {
        uint64_t bits = 0;
        get(bits);
        ret_value = std::bit_cast<int64_t>(bits);
    }

    void get(double& ret_value) {
        uint64_t bits = 0;
        get(bits);
        ret_value = std::bit_cast<double>(bits);
        if (!std::isfinite(ret_value)) ok_ = false;
    }
    // Refuses bytes that parse but whose content is not accepted.
    void refuse(std::string why) {
        ok_ = false;
        why_ = std::move(why);
    }

    bool ok() const { return ok_; }
    const std::string& why() const { return why_; }
    bool is_at_end() const { return bytes_.empty(); }

  private:
    bool has(size_t size) {
        if (bytes_.size() < size) ok_ = false;
        return ok_;
    }

    std::span<const std::byte> bytes_;
    bool ok_ = true;
    std::string why_ = "they do not parse";
    uint8_t version_ = 0;
};

}  // namespace pace::controller
