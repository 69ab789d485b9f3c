import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareSuiteAgent } from '../../../suite/agent.ts';
import { chooseRuntime } from './choose-runtime.ts';

let dir: string;
let agentDir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'choose-'));
  agentDir = await prepareSuiteAgent(dir);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const makeDataDir = async (name: string): Promise<string> => {
  const dataDir = join(dir, name);
  await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  return dataDir;
};

/** Chooses on a host where these programs refuse everything. */
const chooseWithout = async (
  refusing: string[],
  dataDir: string,
): Promise<{ name?: string; refused: string[] }> => {
  const module = fileURLToPath(new URL('./choose-runtime.ts', import.meta.url));
  const script = `import { chooseRuntime } from ${JSON.stringify(module)};
    const refused = [];
    const name = await chooseRuntime(${JSON.stringify({ dataDir, agentDir })}, (program) => refused.push(program));
    console.log(JSON.stringify({ name, refused }));`;
  const hide = 'for name in $1; do mount --bind /bin/false $(command -v $name); done; shift; exec "$@"';
  const args = ['--mount', '--propagation', 'private', 'sh', '-c', hide, 'sh', refusing.join(' ')];
  const node = [process.execPath, '--input-type=module-typescript', '-e', script];
  const { stdout } = await promisify(execFile)('unshare', [...args, ...node]);
  return JSON.parse(stdout) as { name?: string; refused: string[] };
};

describe('the choice of an OCI runtime', () => {
  it('is crun, tried once for a kernel and a program, which leaves no sandbox', async () => {
    const dataDir = await makeDataDir('crun');
    const refused: string[] = [];
    const choose = () => chooseRuntime({ dataDir, agentDir }, (name) => refused.push(name));
    expect(await choose()).toBe('crun');
    expect(await readdir(join(dataDir, 'sandboxes'))).toEqual([]);
    const proof = await readFile(join(dataDir, 'run/oci-proof.json'), 'utf8');
    expect(proof).toContain('crun');
    // With an agent that cannot start, only what was proved before is good.
    expect(await chooseRuntime({ dataDir, agentDir: join(dir, 'none') }, () => undefined)).toBe('crun');
    expect(refused).toEqual([]);
  });

  it('is runc where crun refuses, and none where both do', async () => {
    expect(await chooseWithout(['crun'], await makeDataDir('runc'))).toEqual({
      name: 'runc',
      refused: ['crun'],
    });
    expect(await chooseWithout(['crun', 'runc'], await makeDataDir('none'))).toEqual({
      refused: ['crun', 'runc'],
    });
  });
});
