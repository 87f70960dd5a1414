#include "service/controller/zmq/curve_keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <cerrno>
#include <cstring>

#include "base/secret_file.h"
#include "base/unique_fd.h"

namespace pace::control_zmq {

namespace {

constexpr size_t kZ85Characters = 40;

base::Result<KeyBytes> decode(std::string_view z85) {
    KeyBytes bytes{};
    const std::string text(z85);
    if (text.size() != kZ85Characters ||
        zmq_z85_decode(reinterpret_cast<uint8_t*>(bytes.data()), text.c_str()) == nullptr)
        return base::make_error(base::ErrorKind::invalid,
                                "a CURVE key is 40 characters of Z85, this has {}", text.size());
    return bytes;
}

std::string encode(std::span<const std::byte> bytes) {
    std::array<char, kZ85Characters + 1> text{};
    zmq_z85_encode(text.data(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    return text.data();
}

// The first line of an open file.
base::Result<std::string> first_line(const std::string& path, int fd) {
    std::array<char, 256> text{};
    const ssize_t got = read(fd, text.data(), text.size());
    if (got < 0) return base::make_errno_error(errno, "read key file " + path);
    const std::string_view all(text.data(), static_cast<size_t>(got));
    return std::string(all.substr(0, all.find_first_of(" \t\r\n")));
}

base::Result<std::string> public_line(const std::string& path) {
    const base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.valid()) return first_line(path, fd.get());
    auto error = base::make_errno_error(errno, "read key file " + path);
    if (error.kind == base::ErrorKind::denied)
        error.message += fmt::format("; a public key is no secret, run: chmod 644 {}", path);
    return error;
}

base::Result<> write_line(const std::string& path, const std::string& line, mode_t mode) {
    const base::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd.valid()) {
        if (errno == EEXIST)
            return base::make_error(base::ErrorKind::taken,
                                    "{} exists; keys are never replaced, move it away first", path);
        return base::make_errno_error(errno, "write key file " + path);
    }
    const std::string text = line + "\n";
    const ssize_t written = write(fd.get(), text.data(), text.size());
    // A service of another user reads the public key, whatever the mask of modes is here.
    if (written != static_cast<ssize_t>(text.size()) || fchmod(fd.get(), mode) != 0 ||
        fsync(fd.get()) != 0) {
        const int error = written < 0 ? errno : ENOSPC;
        unlink(path.c_str());
        return base::make_errno_error(error, "write key file " + path);
    }
    return {};
}

base::Error in_file(const std::string& path, base::Error error) {
    error.message = path + ": " + error.message;
    return error;
}

}  // namespace

base::Result<PublicKey> PublicKey::parse(std::string_view z85) {
    PACE_TRY_ASSIGN(bytes, decode(z85));
    return PublicKey(bytes);
}

base::Result<PublicKey> PublicKey::read(const std::string& path) {
    PACE_TRY_ASSIGN(line, public_line(path));
    auto key = parse(line);
    if (!key) return in_file(path, std::move(key).error());
    return key;
}

std::string PublicKey::z85() const {
    return encode(bytes_);
}

base::Result<> PublicKey::write(const std::string& path) const {
    return write_line(path, z85(), 0644);
}

base::Result<SecretKey> SecretKey::generate() {
    std::array<char, kZ85Characters + 1> public_text{};
    std::array<char, kZ85Characters + 1> secret_text{};
    if (zmq_curve_keypair(public_text.data(), secret_text.data()) != 0)
        return base::make_error(base::ErrorKind::unavailable,
                                "this ZeroMQ was built without CURVE: {}", zmq_strerror(errno));
    auto key = parse(secret_text.data());
    explicit_bzero(secret_text.data(), secret_text.size());
    return key;
}

base::Result<SecretKey> SecretKey::parse(std::string_view z85) {
    PACE_TRY_ASSIGN(bytes, decode(z85));
    std::array<char, kZ85Characters + 1> public_text{};
    const std::string secret_text(z85);
    if (zmq_curve_public(public_text.data(), secret_text.c_str()) != 0)
        return base::make_error(base::ErrorKind::unavailable,
                                "this ZeroMQ was built without CURVE: {}", zmq_strerror(errno));
    PACE_TRY_ASSIGN(public_key, PublicKey::parse(public_text.data()));
    return SecretKey(bytes, public_key);
}

base::Result<SecretKey> SecretKey::read(const std::string& path) {
    PACE_TRY_ASSIGN(fd, base::open_secret_file("the secret key", path));
    PACE_TRY_ASSIGN(line, first_line(path, fd.get()));
    auto key = parse(line);
    if (!key) return in_file(path, std::move(key).error());
    return key;
}

SecretKey::~SecretKey() {
    explicit_bzero(bytes_.data(), bytes_.size());
}

base::Result<> SecretKey::write(const std::string& path) const {
    return write_line(path, encode(bytes_), 0600);
}

base::Result<PublicKey> generate_key_pair(const std::string& prefix) {
    PACE_TRY_ASSIGN(secret, SecretKey::generate());
    PACE_TRY(secret.write(prefix + ".secret"));
    const PublicKey public_key = secret.public_key();
    if (auto written = public_key.write(prefix + ".public"); !written) {
        unlink((prefix + ".secret").c_str());
        return std::move(written).error();
    }
    return public_key;
}

}  // namespace pace::control_zmq
