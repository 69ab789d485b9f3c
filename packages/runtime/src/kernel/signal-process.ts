/** Sends a signal to a process; does nothing about one that has ended, or that this process cannot see. */
export const signalProcess = (pid: number, name: NodeJS.Signals): void => {
  // 0 stands for one in a pid namespace that is not ours; as a target it would be ourselves.
  if (pid <= 0) return;
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};
