import koffi from 'koffi';

/**
 * The stack of a call on another thread. koffi gives such a call 128 KiB by itself, of which libnftables 1.1 needs more to
 * load a table: it writes past the end, and the process dies.
 */
const ASYNC_STACK_BYTES = 2 << 20;

// Refused once a library is loaded: nothing else of this package imports koffi itself, and a second copy of this module leaves
// what the first one has set.
const config = koffi.config() as { async_stack_size: number };
if (config.async_stack_size !== ASYNC_STACK_BYTES)
  koffi.config({ ...config, async_stack_size: ASYNC_STACK_BYTES });

/** Calls functions of C libraries; their asynchronous calls have a stack of 2 MiB. */
export default koffi;
