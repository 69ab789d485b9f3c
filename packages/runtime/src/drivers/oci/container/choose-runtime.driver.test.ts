import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '../../../kernel/find-program.ts';
import { prepareSuiteAgent } from '../../../suite/agent.ts';
import { runWithReplacedPrograms } from '../testing/run-with-replaced-programs.ts';
import { createTrial } from '../trial.ts';
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
  const toModule = (path: string) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
  const script = `import { chooseRuntime } from ${toModule('./choose-runtime.ts')};
    import { createTrial } from ${toModule('../trial.ts')};
    const refused = [];
    const tryPrograms = createTrial(${JSON.stringify({ dataDir, agentDir })});
    const onRefusal = (program) => refused.push(program);
    const name = await chooseRuntime({ dataDir: ${JSON.stringify(dataDir)}, tryPrograms, onRefusal });
    console.log(JSON.stringify({ name, refused }));`;
  const places = { ...Object.fromEntries(refusing.map((name) => [name, '/bin/false'])), ...replaced };
  return JSON.parse(await runWithReplacedPrograms(places, script)) as { name?: string; refused: string[] };
};

describe('the choice of an OCI runtime', () => {
  it('is crun, tried once for each kernel and program, without leaving a sandbox', async () => {
    const dataDir = await makeDataDir('crun');
    const refused: string[] = [];
    const choose = (agent: string) =>
      chooseRuntime({
        dataDir,
        tryPrograms: createTrial({ dataDir, agentDir: agent }),
        onRefusal: (name) => refused.push(name),
      });
    expect(await choose(agentDir)).toBe('crun');
    expect(await readdir(join(dataDir, 'sandboxes'))).toEqual([]);
    const proof = await readFile(join(dataDir, 'run/oci-proof.json'), 'utf8');
    expect(proof).toContain('crun');
    // Pass an agent that cannot start: only an earlier proof makes this succeed.
    expect(await choose(join(dir, 'none'))).toBe('crun');
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
