import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../../../kernel/find-program.ts';
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

/** Chooses on a host where these programs always fail, or are replaced by others. */
const chooseWithout = async (
  refusing: string[],
  dataDir: string,
  replaced: Record<string, string> = {},
): Promise<{ name?: string; refused: string[] }> => {
  const module = fileURLToPath(new URL('./choose-runtime.ts', import.meta.url));
  const script = `import { chooseRuntime } from ${JSON.stringify(module)};
    const refused = [];
    const name = await chooseRuntime(${JSON.stringify({ dataDir, agentDir })}, (program) => refused.push(program));
    console.log(JSON.stringify({ name, refused }));`;
  const places = { ...Object.fromEntries(refusing.map((name) => [name, '/bin/false'])), ...replaced };
  const hide = Object.entries(places).map(([name, path]) => `mount --bind ${path} $(command -v ${name})`);
  const args = ['--mount', '--propagation', 'private', 'sh', '-c', `${hide.join('; ')}; exec "$@"`, 'sh'];
  const node = [process.execPath, '--input-type=module-typescript', '-e', script];
  const { stdout } = await promisify(execFile)('unshare', [...args, ...node]);
  return JSON.parse(stdout) as { name?: string; refused: string[] };
};

describe('the choice of an OCI runtime', () => {
  it('is crun, tried once for each kernel and program, without leaving a sandbox', async () => {
    const dataDir = await makeDataDir('crun');
    const refused: string[] = [];
    const choose = () => chooseRuntime({ dataDir, agentDir }, (name) => refused.push(name));
    expect(await choose()).toBe('crun');
    expect(await readdir(join(dataDir, 'sandboxes'))).toEqual([]);
    const proof = await readFile(join(dataDir, 'run/oci-proof.json'), 'utf8');
    expect(proof).toContain('crun');
    // Pass an agent that cannot start: only an earlier proof makes this succeed.
    expect(await chooseRuntime({ dataDir, agentDir: join(dir, 'none') }, () => undefined)).toBe('crun');
    expect(refused).toEqual([]);
  });

  it('is runc where crun fails, and none where both do', async () => {
    expect(await chooseWithout(['crun'], await makeDataDir('runc'))).toEqual({
      name: 'runc',
      refused: ['crun'],
    });
    expect(await chooseWithout(['crun', 'runc'], await makeDataDir('none'))).toEqual({
      refused: ['crun', 'runc'],
    });
  });

  it('is a runc that rejects mappings beside the path of a user namespace, as 1.1.15 does', async () => {
    const program = findProgram('runc');
    if (program === undefined) throw new Error('runc is not installed: apt-get install -y runc');
    const [runc, own] = [join(dir, 'runc-1.1.15'), join(dir, 'runc-of-host')];
    await copyFile(program, own);
    // Otherwise the folder is covered for the runtime by one that shows only the path to the sandbox.
    await chmod(dir, 0o755);
    // The runc of this host may need the mappings: the rejected ones are inserted again.
    const script = `#!/bin/sh
for word; do
  if [ "$last" = --bundle ]; then
    if grep -o '"uidMappings".*"gidMappings":[^]]*\\]' "$word/config.json" > ${dir}/mappings.new; then
      mv ${dir}/mappings.new ${dir}/mappings
      exit 1
    fi
    sed -i 's/"linux":{/&'"$(cat ${dir}/mappings),/" "$word/config.json"
  fi
  last=$word
done
exec ${own} "$@"
`;
    await writeFile(runc, script, { mode: 0o755 });
    expect(await chooseWithout(['crun'], await makeDataDir('plain'), { runc })).toEqual({
      name: 'runc',
      refused: ['crun'],
    });
  });
});
