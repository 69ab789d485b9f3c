import { createHash } from 'node:crypto';
import { Sandbox, SandboxError } from '@skerry/sdk';
import type { StackClient } from '../stack/stack-client.ts';
import { createFaultProxy, type FaultCounts } from './fault-proxy.ts';
import { createRandom } from './random.ts';

export interface FaultRunOptions {
  stack: StackClient;
  seed: number;
  /** What one command writes. */
  outputBytes: number;
  fileCount: number;
  fileBytes: number;
}

/** How often something arrived byte for byte, and how often its caller was told by an error that it did not. */
export interface Outcome {
  equal: number;
  told: number;
}

export interface FaultReport {
  faults: FaultCounts;
  output: Outcome;
  upload: Outcome;
  download: Outcome;
}

const MAX_ATTEMPTS = 40;
const MEAN_GAP_BYTES = 128 * 1024;

const hashOf = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** What `seq 1 count` writes: every line differs, so that a lost, doubled or swapped piece shows. */
const numbersOf = (count: number): string => {
  let text = '';
  for (let number = 1; number <= count; number += 1) text += `${number}\n`;
  return text;
};

const fillWith = (random: () => number, sizeBytes: number): Uint8Array => {
  const words = new Uint32Array(Math.ceil(sizeBytes / 4));
  for (let at = 0; at < words.length; at += 1) words[at] = random() * 2 ** 32;
  return new Uint8Array(words.buffer, 0, sizeBytes);
};

/**
 * Sends output, uploads and downloads of a real sandbox through a proxy that disturbs them, each until it has arrived. Rejects with
 * when something arrives that is not what was sent, when a failure is not a `SandboxError` or the error of a body that
 * broke, and when something has not arrived after forty attempts.
 */
export const runFaults = async (options: FaultRunOptions): Promise<FaultReport> => {
  const { stack, seed, outputBytes, fileCount, fileBytes } = options;
  const random = createRandom(seed);
  await using sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: 600_000 });
  const { hostname: host, port } = new URL(stack.address.apiUrl);
  await using proxy = await createFaultProxy({
    target: { host, port: Number(port) },
    random,
    meanGapBytes: MEAN_GAP_BYTES,
  });
  const sandboxUrl = `http://127.0.0.1:${proxy.port}`;
  const disturbed = await Sandbox.connect(sandbox.sandboxId, { ...stack.connection, sandboxUrl });

  const attempt = async (what: string, outcome: Outcome, transfer: () => Promise<void>): Promise<void> => {
    for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
      try {
        await transfer();
        outcome.equal += 1;
        return;
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error;
        outcome.told += 1;
      }
    }
    throw new Error(`${what} did not arrive in ${MAX_ATTEMPTS} attempts, seed ${seed}`);
  };
  const check = (what: string, got: string, wanted: string): void => {
    if (got !== wanted) throw new Error(`${what} arrived changed and no error was reported, seed ${seed}`);
  };

  const output: Outcome = { equal: 0, told: 0 };
  const count = Math.ceil(outputBytes / 8);
  const expected = hashOf(numbersOf(count));
  await attempt('the output', output, async () => {
    const { stdout } = await disturbed.commands.run(`seq 1 ${count}`, { timeoutMs: 300_000 });
    check('the output', hashOf(stdout), expected);
  });

  const upload: Outcome = { equal: 0, told: 0 };
  const download: Outcome = { equal: 0, told: 0 };
  for (let file = 0; file < fileCount; file += 1) {
    const path = `/tmp/file-${file}`;
    const bytes = fillWith(random, fileBytes);
    const wanted = hashOf(bytes);
    await attempt(path, upload, async () => {
      await disturbed.files.write(path, bytes);
      // Not through the proxy: what counts is what lies there.
      const { stdout } = await sandbox.commands.run(`sha256sum ${path}`);
      check(`the upload of ${path}`, stdout.slice(0, 64), wanted);
    });
    await attempt(path, download, async () => {
      check(`the download of ${path}`, hashOf(await disturbed.files.read(path, { format: 'bytes' })), wanted);
    });
  }
  return { faults: proxy.counts, output, upload, download };
};
