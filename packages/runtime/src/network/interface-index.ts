import { libc } from '../kernel/native.ts';

/** The index of an interface in the network namespace that this thread is in now; 0 when it has none of that name. */
export const toInterfaceIndex: (name: string) => number = libc.func(
  'unsigned int if_nametoindex(const char *)',
);
