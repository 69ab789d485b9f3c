import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { useOci } from '../drivers/oci/testing/oci-fixture.ts';

const oci = useOci({ name: 'started', memory: true });

/** Umask, OOM scores, and the limits of open files and core files. */
const look =
  'umask; cat /proc/1/oom_score_adj /proc/self/oom_score_adj; ulimit -Sc; ulimit -Hc; ulimit -Sn; ulimit -Hn';

const toUrl = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
const program = `
import { startHelper } from ${toUrl('./helper.ts')};
import { runInside } from ${toUrl('../suite/client.ts')};
const { options, spec, look } = JSON.parse(process.argv[1]);
const helper = await startHelper(options);
try {
  const instance = await helper.create(spec);
  const before = await runInside(instance, look);
  await instance.pause({ memory: true });
  await instance.resume({ memory: true });
  const after = await runInside(instance, look);
  await instance.stop();
  console.log(JSON.stringify([before.output, after.output]));
} finally {
  await helper.close();
}`;

/** Resolves with what a sandbox sees, new and resumed with its memory, whose helper is started after these lines of a shell. */
const lookInside = async (
  level: 'container' | 'gvisor',
  prelude: string,
  script = look,
): Promise<string[]> => {
  const { dataDir, agentDir, programsDir, rootfs, settings, toId } = oci;
  const driver = { name: 'oci', level, keepsMemory: true, programsDir };
  const request = {
    look: script,
    options: { dataDir, agentDir, driver },
    spec: { id: toId(), rootfs, ...settings },
  };
  const node = [process.execPath, '--input-type=module-typescript', '-e', program, JSON.stringify(request)];
  const { stdout } = await promisify(execFile)('sh', ['-c', `set -e\n${prelude}\nexec "$@"`, 'sh', ...node]);
  return JSON.parse(stdout) as string[];
};

const odd =
  'umask 077; echo 300 > /proc/self/oom_score_adj; ulimit -c unlimited || ulimit -Sc "$(ulimit -Hc)"; ulimit -Sn 1000';
/** Dropped first: a score that is raised with it cannot be lowered without. */
const drop = 'setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource';

/** Bit 24 of the capabilities in force: linux/capability.h. */
const hasSysResource =
  (BigInt(`0x${/^CapEff:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]}`) >> 24n) % 2n ===
  1n;

describe.each(['container', 'gvisor'] as const)('a sandbox of level %s', (level) => {
  it('has one umask, OOM score, and limit of open files and core files, however skerry was started', async () => {
    const plain = await lookInside(level, 'umask 022');
    expect(plain[0]).toMatch(/^0022\n0\n0\n0\n0\n(\d+)\n\1\n$/);
    expect(await lookInside(level, odd)).toEqual(plain);
    expect(plain[1]).toBe(plain[0]);
  });

  it.runIf(level === 'container' && hasSysResource)(
    'cannot lower its OOM score where skerry was started with one below 0',
    async () => {
      const lower = `sh -c 'echo -1 > /proc/self/oom_score_adj && echo lowered' 2>&1`;
      const found = await lookInside(
        level,
        'echo -500 > /proc/self/oom_score_adj',
        `cat /proc/1/oom_score_adj; ${lower}`,
      );
      for (const output of found) {
        expect(output).toMatch(/^0\n/);
        expect(output).not.toContain('lowered');
      }
    },
  );

  it('keeps its memory where the server lacks CAP_SYS_RESOURCE', async () => {
    const found = await lookInside(level, `exec ${drop} sh -c '${odd}; exec "$@"' sh "$@"`);
    expect(found[0]).toMatch(/^0022\n0\n0\n0\n0\n(\d+)\n\1\n$/);
    expect(found[1]).toBe(found[0]);
  });
});
