#include "daemon/device/nccl/nccl_library.h"

#include <dlfcn.h>

#include <array>

namespace pace::device {

using base::Error;
using base::ErrorKind;
using base::make_error;
using base::Result;

namespace {

constexpr const char* kNcclFile = "libnccl.so.2";

Result<> know_version(NcclLibrary& nccl) {
    if (nccl.get_version == nullptr || nccl.get_version(&nccl.version) != ncclSuccess)
        return make_error(ErrorKind::unavailable, "{} does not tell its version", kNcclFile);
    if (nccl.version >= kNcclVersionMin) return {};
    return make_error(ErrorKind::unavailable,
                      "NCCL {} is too old: communicators that are made without blocking need {}",
                      nccl_version_text(nccl.version), nccl_version_text(kNcclVersionMin));
}

Result<NcclLibrary> load_nccl() {
    void* const library = dlopen(kNcclFile, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return make_error(ErrorKind::unavailable, "no NCCL can be loaded: {}", dlerror());
    NcclLibrary nccl;
    const char* missing = nullptr;
    const auto find = [&](const char* symbol) {
        void* const address = dlsym(library, symbol);
        if (address == nullptr && missing == nullptr) missing = symbol;
        return address;
    };
#define PACE_NCCL_FIND(name, symbol, parameters) \
    nccl.name = reinterpret_cast<ncclResult_t(*) parameters>(find(symbol));
    PACE_NCCL_FUNCTIONS(PACE_NCCL_FIND)
#undef PACE_NCCL_FIND
    nccl.get_error_string =
        reinterpret_cast<const char* (*)(ncclResult_t)>(find("ncclGetErrorString"));
    nccl.get_last_error =
        reinterpret_cast<const char* (*)(ncclComm_t)>(dlsym(library, "ncclGetLastError"));
    PACE_TRY(know_version(nccl));  // first, since an old one also lacks functions
    if (missing != nullptr)
        return make_error(ErrorKind::unavailable, "NCCL {} cannot be used: {} has no {}",
                          nccl_version_text(nccl.version), kNcclFile, missing);
    return nccl;
}

ErrorKind kind_of(ncclResult_t result) {
    switch (result) {
        case ncclInvalidArgument:
        case ncclInvalidUsage:
            return ErrorKind::invalid;
        case ncclTimeout:
            return ErrorKind::timeout;
        default:
            return ErrorKind::unavailable;
    }
}

}  // namespace

const Result<const NcclLibrary*>& NcclLibrary::get() {
    // Never destroyed, because threads that call NCCL may outlive the end of main.
    static const auto& loaded = *new Result<NcclLibrary>(load_nccl());
    static const auto& answer = *new Result<const NcclLibrary*>(
        loaded ? Result<const NcclLibrary*>(&*loaded) : Result<const NcclLibrary*>(loaded.error()));
    return answer;
}

Error NcclLibrary::error(ncclResult_t result, std::string_view what) const {
    const char* const text = get_error_string(result);
    // NCCL keeps one such text for the whole process, so it may belong to another error.
    const char* const last = get_last_error == nullptr ? nullptr : get_last_error(nullptr);
    Error error = make_error(kind_of(result), "{}: {} ({})", what,
                             text == nullptr ? "unknown error" : text, static_cast<int>(result));
    if (last != nullptr && *last != '\0') error.message += fmt::format("; NCCL said: {}", last);
    return error;
}

std::string nccl_version_text(int version) {
    // Up to 2.8 the minor version had one digit.
    const int major_step = version < 10000 ? 1000 : 10000;
    return fmt::format("{}.{}.{}", version / major_step, version % major_step / 100, version % 100);
}

Result<ncclDataType_t> nccl_type_of(uint32_t dtype) {
    constexpr std::array kTypes{ncclFloat32, ncclFloat64, ncclFloat16, ncclBfloat16};
    if (dtype >= 1 && dtype <= kTypes.size()) return kTypes[dtype - 1];
    return make_error(ErrorKind::invalid, "element type {} is none that GPUs sum", dtype);
}

}  // namespace pace::device
