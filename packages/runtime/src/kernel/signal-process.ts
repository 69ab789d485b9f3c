/** Sends a signal to a process; does nothing when it has ended or is invisible to this process. */
export const signalProcess = (pid: number, name: NodeJS.Signals): void => {
  // 0 is the pid of a process in another pid namespace; kill(2) would take it for the group of this process.
  if (pid <= 0) return;
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};
