/* objects: what a driver has made, by the names that cases give. Threads: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pace.h"

enum { OBJECTS_MAX = 256, NAME_BYTES = 32 };

typedef enum object_kind { SESSION = 1, BUFFER, REQUEST, TENSOR } object_kind;

typedef struct object {
    object_kind kind;
    char name[NAME_BYTES];
    pace_session* session; /* its own, or the one that it belongs to */
    pace_buffer buffer;
    pace_request request;
    int32_t type; /* of a buffer's elements */
    uint64_t count;
    void* data;    /* of a buffer; the DLManagedTensor of a tensor */
    int32_t major; /* of a tensor */
    void* own;     /* memory of the driver's, which an imported buffer uses */
    size_t own_bytes;
} object;

/* The object, or NULL. */
object* object_find(object_kind kind, const char* name);

/* An object of that name, cleared: a new one, or what had the name. NULL when there are too many.
 */
object* object_make(object_kind kind, const char* name);

/* The name of a session's request, or "". */
const char* object_request_name(const pace_session* session, pace_request request);
