// CURVE keys: keys and their files, one key of 40 characters (Z85) on one line.
//
// `NAME.secret` is written with mode 0600, and refused when others may read it. `NAME.public` may
// be distributed. The public key can be computed from the secret one.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pace::control_zmq {

using KeyBytes = std::array<std::byte, 32>;

class PublicKey {
  public:
    static base::Result<PublicKey> parse(std::string_view z85);
    static base::Result<PublicKey> read(const std::string& path);

    explicit PublicKey(const KeyBytes& bytes) : bytes_(bytes) {}
    std::span<const std::byte> bytes() const { return bytes_; }
    std::string z85() const;
    // Never replaces a file.
    base::Result<> write(const std::string& path) const;
    bool operator==(const PublicKey&) const = default;

  private:
    KeyBytes bytes_;
};

class SecretKey {
  public:
    static base::Result<SecretKey> generate();
    static base::Result<SecretKey> parse(std::string_view z85);
    // Reads the file, or the credential that systemd passes in its place (base/secret_file.h).
    static base::Result<SecretKey> read(const std::string& path);

    SecretKey(const SecretKey&) = default;
    SecretKey& operator=(const SecretKey&) = default;
    ~SecretKey();  // wipes

    std::span<const std::byte> bytes() const { return bytes_; }
    PublicKey public_key() const { return public_; }
    base::Result<> write(const std::string& path) const;

  private:
    SecretKey(const KeyBytes& bytes, PublicKey public_key) : bytes_(bytes), public_(public_key) {}

    KeyBytes bytes_;
    PublicKey public_;
};

// Writes PREFIX.secret and PREFIX.public. Fails if either exists.
base::Result<PublicKey> generate_key_pair(const std::string& prefix);

}  // namespace pace::control_zmq
