import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type Program, startProgram } from '../kernel/start-program.ts';

/**
 * Starts a process that does nothing in a network namespace of its own, and resolves when it is there. It ends with
 * this process.
 */
export const startInNetworkNamespace = async (): Promise<Program> => {
  const program = startProgram({
    file: 'unshare',
    args: ['--net', 'cat'],
    stdio: ['input', 'output', 'ignore'],
  });
  const [input, output] = program.pipes as [Socket, Socket];
  const failed = program.ended.then(() => Promise.reject(new Error('unshare --net failed')));
  input.on('error', () => undefined).write('\n');
  await Promise.race([once(output, 'data'), failed]);
  return program;
};
