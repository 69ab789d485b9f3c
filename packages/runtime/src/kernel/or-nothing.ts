/** What it reads of a process, or undefined where that fails: it may be gone by now. */
export const orNothing = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    // It is gone by now.
    return undefined;
  }
};
