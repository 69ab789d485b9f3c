/** What the servers of this test file have logged; each call resolves with the log of one so far. */
export const knownLogs = new Set<() => Promise<string>>();
