/** Returns what `read` returns, or undefined where it throws: a process that it reads about may have ended. */
export const readIfPresent = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    // The process has ended.
    return undefined;
  }
};
