import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Starts one of the programs that run until they are killed, and kills it when `moment` resolves, which begins when the
 * program has made its sandbox and gets a function that returns the output so far. Resolves with all output.
 */
export const killProgram = async (options: {
  program: string;
  argv: readonly string[];
  moment: (said: () => string) => Promise<void>;
}): Promise<string> => {
  const { program, argv, moment } = options;
  const child = spawn(process.execPath, [program, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  let said = '';
  const made = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('made\n')) resolve();
    });
  });
  const ended = closed.then(() => {
    throw new Error(`${program} ended with the output "${said}"`);
  });
  try {
    await Promise.race([made, ended]);
    await Promise.race([moment(() => said), ended]);
  } finally {
    child.kill('SIGKILL');
    await closed;
  }
  return said;
};
