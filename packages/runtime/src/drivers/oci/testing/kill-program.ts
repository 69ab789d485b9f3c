import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Starts one of the programs that work until somebody ends them, and kills it when `moment` resolves, which begins when the
 * program has made its sandbox and is told how to see what it has said. Resolves with all that it said.
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
    throw new Error(`${program} ended, having said "${said}"`);
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
