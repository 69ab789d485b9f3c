import { statfsSync } from 'node:fs';

/** Magic numbers of statfs(2): NFS, SMB, CIFS, SMB2, FUSE. */
const NETWORK_TYPES: ReadonlySet<number> = new Set([0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546]);

/** proc, sysfs, cgroup and cgroup2. */
const PSEUDO_TYPES: ReadonlySet<number> = new Set([0x9fa0, 0x62656572, 0x27e0eb, 0x63677270]);

// Node gives the number as the kernel's signed word.
const typeOf = (path: string): number => statfsSync(path).type >>> 0;

/** Whether a path lies where changes made by other machines, or by the program that serves it, raise no events. */
export const isNetworkMount = (path: string): boolean => NETWORK_TYPES.has(typeOf(path));

/** Whether a path lies in a tree that the kernel makes up: endless, and without events. */
export const isPseudoMount = (path: string): boolean => PSEUDO_TYPES.has(typeOf(path));
