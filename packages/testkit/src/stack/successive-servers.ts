import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { runProgram } from './run-program.ts';
import { skerryProgram } from './skerry-program.ts';
import { type Stack, startStack } from './stack.ts';

/** Servers over one data folder, of which each takes over from the one before. */
export interface SuccessiveServers {
  readonly dataDir: string;
  /** The server that a test has left running, else a new one: a start takes most of the time of a test. */
  start(): Promise<Stack>;
  /** Ends the server that runs and waits; its sandboxes run on. */
  end(how: 'kill' | 'stop'): Promise<void>;
  /** Waits for the end of a server that was signalled. Resolves with its status. */
  ended(): Promise<number | null | undefined>;
}

/** Servers for the tests of a `describe` or a file, after which `skerry down` ends what runs, and the folder is deleted. */
export function useSuccessiveServers(): SuccessiveServers {
  const dataDir = mkdtempSync(join(tmpdir(), 'skerry-successive-'));
  let running: Stack | undefined;
  afterAll(async () => {
    await runProgram(skerryProgram, ['down', '--data', dataDir]);
    rmSync(dataDir, { recursive: true });
  });
  return {
    dataDir,
    async start() {
      running ??= await startStack({ dataDir });
      return running;
    },
    async ended() {
      const ending = running;
      running = undefined;
      return ending?.ended();
    },
    async end(how) {
      const ending = running;
      running = undefined;
      await ending?.[how]();
    },
  };
}
