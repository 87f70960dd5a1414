#include "objects.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static object objects[OBJECTS_MAX];
static pthread_mutex_t objects_lock = PTHREAD_MUTEX_INITIALIZER;

static object* find(object_kind kind, const char* name) {
    for (size_t at = 0; at < OBJECTS_MAX; ++at)
        if (objects[at].kind == kind && strcmp(objects[at].name, name) == 0) return &objects[at];
    return NULL;
}

object* object_find(object_kind kind, const char* name) {
    pthread_mutex_lock(&objects_lock);
    object* found = find(kind, name);
    pthread_mutex_unlock(&objects_lock);
    return found;
}

object* object_make(object_kind kind, const char* name) {
    pthread_mutex_lock(&objects_lock);
    object* made = find(kind, name);
    for (size_t at = 0; made == NULL && at < OBJECTS_MAX; ++at)
        if (objects[at].kind == 0) made = &objects[at];
    if (made != NULL) {
        memset(made, 0, sizeof(*made));
        made->kind = kind;
        snprintf(made->name, sizeof(made->name), "%s", name);
    }
    pthread_mutex_unlock(&objects_lock);
    return made;
}

const char* object_request_name(const pace_session* session, pace_request request) {
    for (size_t at = 0; at < OBJECTS_MAX; ++at)
        if (objects[at].kind == REQUEST && objects[at].session == session &&
            objects[at].request.id == request.id)
            return objects[at].name;
    return "";
}
