import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { type StackSandbox, startStack } from '@skerry/testkit';

export interface BenchStack {
  /** Options of the SDK that reach the server under measurement. */
  connection: { apiUrl: string; apiKey: string; domain: string; sandboxUrl: string };
  createSandbox(): Promise<Sandbox>;
  /** One that is used without the SDK. */
  createBareSandbox(): Promise<StackSandbox>;
  down(): Promise<void>;
}

/** Starts the real service from this checkout with a data folder of its own; `args` are added to `skerry up`. */
export async function startBenchStack({ args = [] }: { args?: readonly string[] } = {}): Promise<BenchStack> {
  const dataDir = mkdtempSync(join(tmpdir(), 'skerry-bench-'));
  const stack = await startStack({ dataDir, args });
  const { apiUrl, apiKey, domain, sandboxUrl } = stack.address;
  const connection = { apiUrl, apiKey, domain, sandboxUrl };
  return {
    connection,
    createSandbox: () => Sandbox.create({ ...connection, timeoutMs: 600_000 }),
    createBareSandbox: () => stack.createSandbox({ timeoutSeconds: 600 }),
    async down() {
      await stack.down();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
