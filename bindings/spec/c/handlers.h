/* handlers: the functions that carry commands out; each writes its command's answer. */
#pragma once

#include "command.h"

/* library.c */
void handle_query(command* command);
void handle_version(command* command);
void handle_name(command* command);

/* sessions.c */
void handle_open(command* command);
void handle_info(command* command);
void handle_leave(command* command);
void handle_free(command* command);
void handle_fd(command* command);
void handle_report(command* command);
void handle_fork(command* command);
void handle_announce(command* command);
void handle_withdraw(command* command);

/* buffers.c */
void handle_buffer(command* command);
void handle_describe(command* command);
void handle_free_buffer(command* command);
void handle_release_buffer(command* command);
void handle_write(command* command);
void handle_fill(command* command);
void handle_read(command* command);

/* tensors.c */
void handle_tensor(command* command);
void handle_read_tensor(command* command);
void handle_free_tensor(command* command);

/* verbs.c: average, reduce, sync, broadcast, barrier, push, pull, checkpoint, residual_save,
 * residual_load */
void handle_verb(command* command);

/* requests.c */
void handle_ready(command* command);
void handle_wait(command* command);
void handle_test(command* command);
void handle_next(command* command);
void handle_wait_any(command* command);
void handle_cancel(command* command);

/* driver.c: what one line asks for, whatever it is. */
void handle(command* command);
