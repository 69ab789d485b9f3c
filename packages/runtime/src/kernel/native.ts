import koffi from 'koffi';

/**
 * The stack of a call on another thread. koffi's default is 128 KiB, of which libnftables 1.1 needs more to load a
 * table: it writes past the end, and the process dies.
 */
const ASYNC_STACK_BYTES = 2 << 20;

// Refused once a library is loaded: no other file of this package imports koffi, and a second copy of this module keeps
// what the first one has set.
const config = koffi.config() as { async_stack_size: number };
if (config.async_stack_size !== ASYNC_STACK_BYTES)
  koffi.config({ ...config, async_stack_size: ASYNC_STACK_BYTES });

/** The C library of this process, with every other library that is linked into Node. */
export const libc = koffi.load(null);

/** Calls functions of C libraries; their asynchronous calls have a stack of 2 MiB. */
export default koffi;
