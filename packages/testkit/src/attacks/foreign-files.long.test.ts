import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { imagesDir as sharedImages } from '../stack/images-dir.ts';
import { joinStack } from '../stack/shared-stack.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { attackFromOutside } from './attack.ts';

let base: string;
beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), 'skerry-foreign-'));
  // The programs are there when a server of each level has started.
  for (const level of ['container', 'gvisor'] as const) await (await joinStack({ level })).leave();
});
afterAll(() => rmSync(base, { recursive: true }));

const makeFolder = (name: string): string => mkdtempSync(join(realpathSync(base), `${name}-`));

/** What another user can have done to a file or folder that code of the server is in. */
const changes = {
  'belongs to user 54321': (path: string) => chownSync(path, 54_321, 54_321),
  'may be written by every user': (path: string) => chmodSync(path, 0o777),
};

/** The first place where a server looks for programs of the host. */
const systemFolder = '/usr/local/sbin';

interface Start {
  imagesDir?: string;
  dataDir?: string;
  args?: readonly string[];
  /** A command that runs the command appended to it. */
  through?: readonly string[];
}

/** Starts a server and resolves with what it has written when it ends, as it does once it serves. */
const start = async ({
  imagesDir = sharedImages,
  dataDir = makeFolder('data'),
  args = [],
  through = [],
}: Start): Promise<{ written: string; hasServed: boolean }> => {
  const options = ['up', '--port', '0', '--data', dataDir, '--images', imagesDir, '--json', ...args];
  const [file, ...before] = [...through, process.execPath];
  const child = spawn(file, [...before, skerryProgram, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  let written = '';
  let hasServed = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      written += piece;
      hasServed ||= written.includes('"apiKey"');
      if (hasServed) child.kill('SIGKILL');
    });
  await once(child, 'close');
  return { written, hasServed };
};

/** Expects of a server that it does not serve, and says of the path what it has against it. */
const expectRefusal = async (path: string, reason: string, options: Start): Promise<void> => {
  const { written, hasServed } = await start(options);
  expect(written).toContain(`${path} ${reason}`);
  expect(hasServed).toBe(false);
};

const gvisor = ['--isolation', 'gvisor'];

/** The programs that the folder of images has, and one change of each. A host with a runsc of its own does not put one there. */
const prepared = [
  { folder: 'criu', name: 'lib/ld.so', args: [], reason: 'may be written by every user' },
  { folder: 'criu', name: 'criu', args: [], reason: 'belongs to user 54321' },
  { folder: 'runsc', name: 'runsc', args: gvisor, reason: 'may be written by every user' },
] as const;
const findPrepared = () => prepared.filter(({ folder }) => existsSync(join(sharedImages, folder)));

/** A folder of images with a copy of one of its programs. */
const copyImages = (program: string): string => {
  const imagesDir = makeFolder('images');
  cpSync(join(sharedImages, program), join(imagesDir, program), { recursive: true });
  return imagesDir;
};

attackFromOutside(
  'putting programs into a folder of data or of images that another user owns or may write',
  'the server does not start',
  async () => {
    const attempts = (['dataDir', 'imagesDir'] as const).flatMap((option) =>
      Object.entries(changes).map(async ([reason, change]) => {
        const folder = makeFolder(option);
        change(folder);
        await expectRefusal(folder, reason, { [option]: folder });
      }),
    );
    await Promise.all(attempts);
  },
);

attackFromOutside(
  'putting a loader or a program of another user into the folder of images',
  'the server does not start',
  async () => {
    const attempts = findPrepared().map(async ({ folder, name, args, reason }) => {
      const imagesDir = copyImages(folder);
      const path = join(imagesDir, folder, name);
      changes[reason](path);
      await expectRefusal(path, reason, { imagesDir, args });
    });
    await Promise.all(attempts);
  },
);

attackFromOutside(
  'naming a program of another user with --criu, or having the host use one as its runsc',
  'the server does not start',
  async () => {
    const reason = 'belongs to user 54321';
    const programs = makeFolder('programs');
    // Neither may run, and what it does would show.
    for (const name of ['criu', 'runsc']) {
      const path = join(programs, name);
      writeFileSync(path, `#!/bin/sh\ntouch ${programs}/has-run\necho "runsc version release-20990101.0"\n`);
      chmodSync(path, 0o755);
      changes[reason](path);
    }
    const script = `mount --bind ${programs} ${systemFolder}; exec "$@"`;
    await Promise.all([
      expectRefusal(join(programs, 'criu'), reason, { args: ['--criu', join(programs, 'criu')] }),
      expectRefusal(join(systemFolder, 'runsc'), reason, {
        args: gvisor,
        // The program lies there for this server alone.
        through: ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh'],
      }),
    ]);
    expect(existsSync(join(programs, 'has-run'))).toBe(false);
  },
);

attackFromOutside(
  'changing a program that runs with the rights of the server',
  'hashes that are compared at each start',
  async () => {
    const programs = findPrepared().filter(({ folder, name }) => name === folder);
    const attempts = programs.map(async ({ folder, name, args }) => {
      const imagesDir = copyImages(folder);
      const path = join(imagesDir, folder, name);
      appendFileSync(path, 'x');
      await expectRefusal(path, 'is not as it was made', { imagesDir, args });
    });
    await Promise.all(attempts);
  },
);
