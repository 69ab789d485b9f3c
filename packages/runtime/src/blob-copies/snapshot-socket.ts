import { join } from 'node:path';

/** Returns the path of the socket on which a helper answers requests about stored snapshots. */
export const toSnapshotSocket = (dataDir: string): string => join(dataDir, 'run', 'snapshots.sock');
