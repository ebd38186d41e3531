/*
 * libtiergate: the gate of a starting inference engine, for processes that are not written in Go.
 *
 * A worker calls it before it allocates its KV region, an engine core before it opens the region or a tier. A request and
 * its answer are JSON texts; the requests are described in docs/library.md.
 *
 *     uint64_t id = tiergate_begin();
 *     char *answer = tiergate_call(id, request, strlen(request));   // blocks, at most until the deadline and a second
 *     ...                                                           // {} is a yes; {"error": {...}} is anything else
 *     tiergate_free(answer);
 *
 * Threads. Every function may be called from any thread at any time. Calls do not hold each other up.
 *
 * Processes. Loading the library starts threads of Go's runtime, which a fork does not copy: a forked child must not call
 * in. Load it in the process that needs it, as late as possible, and never before a fork. Python's loader checks the pid.
 *
 * Signals. The library handles none. Go's runtime puts its handlers for SIGSEGV, SIGBUS and SIGFPE in front of those that
 * are installed when it is loaded, and passes on what did not happen in Go; SIGURG is used between its own threads.
 *
 * It never ends the process, writes its log lines to standard error only if the request says so, and reads no environment
 * of its own: the request brings it along.
 */
#ifndef TIERGATE_H
#define TIERGATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An id for one call, by which the call can be cancelled, also before it begins. It ends with its call. */
uint64_t tiergate_begin(void);

/*
 * Carries out a request of so many bytes. The answer is a JSON object that ends in NUL and belongs to the caller, who gives
 * it to tiergate_free. It is NULL only if there is no memory. With an id that is not from tiergate_begin, or was used
 * already, the call is cancelled at once.
 */
char *tiergate_call(uint64_t id, const char *request, size_t length);

/* Makes a call end within milliseconds with the error "cancelled". An unknown id does nothing. */
void tiergate_cancel(uint64_t id);

/* Frees an answer. NULL does nothing. */
void tiergate_free(char *answer);

#ifdef __cplusplus
}
#endif

#endif
