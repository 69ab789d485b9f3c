import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { release, version } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepareAgentFolder } from '../../../agent-folder/agent-folder.ts';
import { prepareSuiteBundle } from '../../../suite/agent.ts';
import { useOci } from '../testing/oci-fixture.ts';
import { ensureMemoryProof } from './prove-memory.ts';

const oci = useOci({ name: 'proof', memory: true });

const prepare = async (name: string): Promise<Parameters<typeof ensureMemoryProof>[1]> => {
  const rootfs = join(oci.base, `${name}-root`);
  await mkdir(rootfs);
  return { program: `${oci.criuDir}/criu`, proofPath: join(oci.base, `${name}.json`), rootfs };
};

/** The folder of an agent that starts no program after a resume or in a copy. */
const prepareBroken = async (): Promise<string> => {
  const base = join(oci.base, 'broken');
  const bundleDir = await prepareSuiteBundle(base);
  const main = join(bundleDir, 'main.js');
  const good = await readFile(main, 'utf8');
  const bad = good.replace("argv: ['/.envd/tini'", "argv: [isRestored ? '/nothing' : '/.envd/tini'");
  expect(bad).not.toBe(good);
  await writeFile(main, `let isRestored = false; process.on('SIGCONT', () => (isRestored = true));\n${bad}`);
  return prepareAgentFolder({ targetDir: join(base, 'agent'), nodePath: process.execPath, bundleDir });
};

/** Kills a CRIU that dumps for this test, and returns how many there were. */
const killDump = (): number => {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (!args.includes('dump') || !args.some((arg) => arg.startsWith(oci.base))) continue;
      process.kill(Number(pid), 'SIGKILL');
      return 1;
    } catch {
      // The process has ended since it was listed.
    }
  }
  return 0;
};

describe('the proof that memory is kept', () => {
  it('runs again where an older one did not start a program after the restore', async () => {
    const options = await prepare('old');
    const { size, mtimeMs } = await stat(options.program);
    const old = { kernel: [release(), version()], program: [size, mtimeMs], on: oci.runtime.name };
    await writeFile(options.proofPath, JSON.stringify(old));
    await ensureMemoryProof(oci.runtime, options);
    const proof = await readFile(options.proofPath, 'utf8');
    expect(JSON.parse(proof)).toEqual({ ...old, version: 2 });
    const { mtimeMs: provedMs } = await stat(options.proofPath);
    await ensureMemoryProof(oci.runtime, options);
    expect((await stat(options.proofPath)).mtimeMs).toBe(provedMs);
  });

  it('is tried again when CRIU is killed, as on a host that is short of memory for a moment', async () => {
    const options = await prepare('killed');
    let killed = 0;
    const hunt = setInterval(() => {
      if (killed === 0) killed += killDump();
    }, 1);
    await ensureMemoryProof(oci.runtime, options).finally(() => clearInterval(hunt));
    expect(killed).toBe(1);
    await stat(options.proofPath);
  });

  it('fails with the reason where no program starts after the restore, and is not stored', async () => {
    const options = await prepare('broken');
    await oci.reopen({ agentDir: await prepareBroken() });
    await expect(ensureMemoryProof(oci.runtime, options)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'no command can be started in a sandbox that was resumed with its memory',
      cause: { message: expect.stringContaining('/nothing') },
    });
    await expect(stat(options.proofPath)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
