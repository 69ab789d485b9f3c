import { readdir, readFile } from 'node:fs/promises';
import { arch } from 'node:os';

/** Whether one of the processes, which are frozen, waits for a child to execute its program. */
export const hasSpawner = async (pids: readonly number[]): Promise<boolean> => {
  const calls = await Promise.all(pids.map(readCalls));
  return calls.flat().some((call) => isSpawn(call));
};

/** The system call that each thread is in, with its arguments, as in `proc(5)`; none of a process that has ended. */
const readCalls = async (pid: number): Promise<string[]> => {
  const folder = `/proc/${pid}/task`;
  const threads = await readdir(folder).catch(() => []);
  return Promise.all(
    threads.map((thread) => readFile(`${folder}/${thread}/syscall`, 'utf8').catch(() => '')),
  );
};

/** arm64 has no call of its own for vfork(2). The flags of clone3(2) are behind a pointer. */
const numbers: Partial<Record<string, { clone: string; vfork?: string; clone3: string }>> = {
  x64: { clone: '56', vfork: '58', clone3: '435' },
  arm64: { clone: '220', clone3: '435' },
};
const CLONE_VFORK = 0x4000;

/** Whether that call returns when the child has executed its program or has ended, on that architecture of Node's. */
export const isSpawn = (call: string, architecture: string = arch()): boolean => {
  const [number = '', flags] = call.split(' ');
  const { clone, vfork, clone3 } = numbers[architecture] ?? {};
  return number === vfork || number === clone3 || (number === clone && (Number(flags) & CLONE_VFORK) !== 0);
};
