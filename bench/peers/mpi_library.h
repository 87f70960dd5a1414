// mpi_library.h: the common calls of every MPI program here to its library, whichever library it
// is.
#pragma once

#include <mpi.h>

#include <string>

#include "bench/common/options.h"

namespace pace::bench {

// Writes the launcher's rank and world into the options.
inline void take_place(Options& options) {
    int rank = 0;
    int world = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    options.rank = static_cast<uint32_t>(rank);
    options.world = static_cast<uint32_t>(world);
}

// Makes a turn of the library's progress, for a process that waits outside of the library.
inline void mpi_progress() {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

// Returns "Open MPI v4.1.4, ..." up to the first comma. Of MPICH's several lines, returns only the
// version.
inline std::string mpi_version() {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    text.resize(static_cast<size_t>(length));
    const std::string mpich = "MPICH Version:";
    if (text.starts_with(mpich)) {
        const size_t begin = text.find_first_not_of(" \t", mpich.size());
        return "MPICH " + text.substr(begin, text.find('\n', begin) - begin);
    }
    return text.substr(0, text.find_first_of(",\n"));
}

}  // namespace pace::bench
