import { type Sandbox, SandboxError } from '@skerry/sdk';
import { TIMED_OUT } from '../../../exit-status.ts';
import { printJson, report } from '../../../output/print.ts';
import { attachTerminal } from './attach-terminal.ts';
import { captureOutput } from './captured-output.ts';
import { explainCall } from './explain-call.ts';
import { quoteWords } from './quote-words.ts';
import { runAttached } from './run-attached.ts';
import { watchEnd } from './watch-end.ts';

/** The flags that say how a command runs in a sandbox. */
export interface RunFlags {
  user?: string;
  cwd?: string;
  env?: Record<string, string>;
  stdin?: boolean;
  tty?: boolean;
  /** In seconds; absent and 0: none. */
  timeout?: number;
  keepAlive?: boolean;
  json?: boolean;
}

/**
 * Runs the words in the sandbox as the flags of `exec` and `run` say, and resolves with the exit status. With `json`, the output and
 * that status are one object on stdout.
 */
export async function runWords(sandbox: Sandbox, words: string[], flags: RunFlags): Promise<number> {
  const output = flags.json ? captureOutput() : undefined;
  const exitCode = await runInTime(sandbox, words, { ...flags, output });
  if (output !== undefined) printJson({ sandboxId: sandbox.sandboxId, exitCode, ...output.read() });
  return exitCode;
}

async function runInTime(
  sandbox: Sandbox,
  words: string[],
  {
    user,
    cwd,
    env,
    stdin = false,
    tty = false,
    timeout = 0,
    keepAlive = false,
    output,
  }: RunFlags & { output: ReturnType<typeof captureOutput> | undefined },
): Promise<number> {
  const place = { user, cwd, envs: env, timeoutMs: timeout * 1000 };
  await using _ = watchEnd(sandbox, { warns: tty, keepsAlive: keepAlive });
  const startedAtMs = performance.now();
  try {
    if (!tty) return await runAttached(sandbox, { ...place, ...output, command: quoteWords(words), stdin });
    const command = words.length === 0 ? {} : { command: quoteWords(words) };
    return await attachTerminal(sandbox, { ...place, ...command });
  } catch (error) {
    // A request that is not answered in time has the same code.
    const isOver = timeout > 0 && performance.now() - startedAtMs >= timeout * 1000;
    if (!isOver || !(error instanceof SandboxError) || error.code !== 'timeout')
      throw await explainCall(error, { sandbox, user });
    report(`the command was killed after ${timeout} s`);
    return TIMED_OUT;
  }
}
