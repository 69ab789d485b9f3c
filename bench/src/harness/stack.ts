import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox, snapshots } from '@skerry/sdk';
import { type Stack, type StackSandbox, startStack } from '@skerry/testkit';
import { mountBaseRootfs } from './base-rootfs.ts';

export interface BenchStack {
  /** Options of the SDK that reach the server under measurement. */
  connection: { apiUrl: string; apiKey: string; domain: string; sandboxUrl: string };
  /** The generated client of the API. */
  readonly api: Stack['api'];
  readonly dataDir: string;
  createSandbox(): Promise<Sandbox>;
  deleteSnapshot(snapshotId: string): Promise<unknown>;
  /** The address of a sandbox without the SDK. */
  createBareSandbox(): Promise<StackSandbox>;
  /** Path on the host of `/run/envd/NAME` inside a sandbox, such as the agent's own `http.sock`. */
  guestPath(sandboxId: string, name: string): string;
  /** Path on the host of a file that was created inside; `path` is absolute. */
  writtenPath(sandboxId: string, path: string): string;
  /** The folder that the agents run from. */
  agentDir(): string;
  /** The tree of the image below every sandbox of the base template, mounted read-only until the resources are disposed. */
  baseRootfs(resources: AsyncDisposableStack): Promise<string>;
  /** The server and the helper. */
  pids(): { server: number; helper: number };
}

/**
 * Starts the real service from this checkout with a separate data folder; `args` are appended to `skerry up`. It is
 * removed with the resources.
 */
export async function startBenchStack({
  resources,
  args = [],
}: {
  resources: AsyncDisposableStack;
  args?: readonly string[];
}): Promise<BenchStack> {
  const dataDir = mkdtempSync(join(tmpdir(), 'skerry-bench-'));
  const forget = (): void => rmSync(dataDir, { recursive: true, force: true });
  const stack = await startStack({ dataDir, args, checksAnswers: false }).catch((error: unknown) => {
    forget();
    throw error;
  });
  const down = async (): Promise<void> => {
    await stack.down();
    forget();
  };
  if (resources.disposed) await down();
  resources.defer(down);
  const { apiUrl, apiKey, domain, sandboxUrl } = stack.address;
  const connection = { apiUrl, apiKey, domain, sandboxUrl };
  return {
    connection,
    api: stack.api,
    dataDir,
    createSandbox: () => Sandbox.create({ ...connection, timeoutMs: 600_000 }),
    deleteSnapshot: (snapshotId) => snapshots.delete(snapshotId, connection),
    createBareSandbox: () => stack.createSandbox({ timeoutSeconds: 600 }),
    guestPath: (sandboxId, name) => join(dataDir, 'sandboxes', sandboxId, 'disk/run', name),
    writtenPath: (sandboxId, path) => join(dataDir, 'sandboxes', sandboxId, 'disk/upper', path),
    agentDir() {
      const [name] = readdirSync(join(dataDir, 'agent'));
      if (name === undefined) throw new Error('the service has no agent folder');
      return join(dataDir, 'agent', name);
    },
    // The server has made or found the image by now.
    baseRootfs: (resources) => mountBaseRootfs({ imagesDir: stack.imagesDir, resources }),
    pids: () => ({ server: stack.pid, helper: findChild(stack.pid) }),
  };
}

/** The server starts no other permanent process. */
function findChild(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
  if (!child) throw new Error('the service has no helper');
  return Number(child);
}
