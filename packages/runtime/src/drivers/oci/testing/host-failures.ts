import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { RuntimeError } from '../../../error.ts';
import { readIfPresent } from '../../../kernel/read-if-present.ts';
import type { Instance } from '../../../runtime.ts';
import { toSandboxFolder } from '../folder.ts';
import { expectOn, startCounter } from './sentry-lab.ts';

/** How the program that writes the memory of a sandbox can be made to fail. */
interface Writer {
  /** Whether a command is the one that writes the memory of the sandbox `id`. */
  isCommand: (words: readonly string[], id: string) => boolean;
  /** Prevents it from writing one of its files in the folder; throws while there is no such folder, or when it is done. */
  block: (folder: string) => void;
  /** How many times that is done: as often as the writer tries. */
  blocks: number;
}

/** Expects that the failure of the writer is not one of the sandbox, that this runs on, and that a later pause works. */
export const expectNoBlame = async (
  { dataDir, instance }: { dataDir: string; instance: Instance },
  { isCommand, block, blocks }: Writer,
): Promise<void> => {
  const last = await startCounter(instance);
  const pauseWhile = async (disturb: () => void): Promise<unknown> => {
    const disturbing = setInterval(disturb, 1);
    try {
      return await instance.pause({ memory: true }).catch((error: unknown) => error);
    } finally {
      clearInterval(disturbing);
    }
  };
  const isWriter = (pid: string): boolean => {
    const words = readIfPresent(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.split('\0') ?? [];
    return isCommand(words, instance.id);
  };
  const kill = (): void => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isWriter(name)))
      process.kill(Number(pid), 'SIGKILL');
  };
  let blocked = 0;
  const { memory } = toSandboxFolder(dataDir, instance.id);
  const blockAll = (): void => {
    if (blocked === blocks) return;
    readIfPresent(() => {
      block(memory);
      blocked += 1;
    });
  };
  for (const [disturb, codes] of [
    // A host without free memory kills too.
    [kill, ['internal', 'exhausted']],
    [blockAll, ['internal']],
  ] as const) {
    expect(codes).toContain(((await pauseWhile(disturb)) as RuntimeError | undefined)?.code);
    expect(await instance.state()).toBe('running');
    await expectOn(instance, last);
  }
  await instance.pause({ memory: true });
  await instance.resume();
  await expectOn(instance, last);
};
