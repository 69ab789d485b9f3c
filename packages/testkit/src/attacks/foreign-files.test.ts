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

interface Start {
  imagesDir?: string;
  dataDir?: string;
  args?: readonly string[];
  /** Put before the `PATH`. */
  programs?: string;
}

/**
 * Starts a server and resolves with what it has written when it ends. It is ended once it serves, or has written `text`.
 */
const start = async (
  { imagesDir = sharedImages, dataDir = makeFolder('data'), args = [], programs }: Start,
  text?: string,
): Promise<{ written: string; hasServed: boolean }> => {
  const options = ['up', '--port', '0', '--data', dataDir, '--images', imagesDir, '--json', ...args];
  const path = [...(programs === undefined ? [] : [programs]), process.env.PATH].join(':');
  const child = spawn(process.execPath, [skerryProgram, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: path },
  });
  let written = '';
  let hasServed = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      written += piece;
      hasServed ||= written.includes('"apiKey"');
      if (hasServed || (text !== undefined && written.includes(text))) child.kill('SIGKILL');
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
    for (const option of ['dataDir', 'imagesDir'] as const)
      for (const [reason, change] of Object.entries(changes)) {
        const folder = makeFolder(option);
        change(folder);
        await expectRefusal(folder, reason, { [option]: folder });
      }
  },
);

attackFromOutside(
  'putting a loader, a library or a program of another user into the folder of images',
  'the server does not start',
  async () => {
    const places = [
      { folder: 'criu', name: 'lib/ld.so', args: [] },
      { folder: 'criu', name: 'criu', args: [] },
      { folder: 'runsc', name: 'runsc', args: ['--isolation', 'gvisor'] },
    ];
    for (const { folder, name, args } of places)
      for (const [reason, change] of Object.entries(changes)) {
        const imagesDir = copyImages(folder);
        const path = join(imagesDir, folder, name);
        change(path);
        await expectRefusal(path, reason, { imagesDir, args });
      }
  },
);

attackFromOutside(
  'naming a program of another user: with --criu, or as the first runsc of the PATH',
  'the server does not start',
  async () => {
    for (const [reason, change] of Object.entries(changes)) {
      const programs = makeFolder('programs');
      // Neither may run, and what it does would show.
      for (const name of ['criu', 'runsc']) {
        const path = join(programs, name);
        writeFileSync(
          path,
          `#!/bin/sh\ntouch ${programs}/has-run\necho "runsc version release-20990101.0"\n`,
        );
        chmodSync(path, 0o755);
        change(path);
      }
      await expectRefusal(join(programs, 'criu'), reason, { args: ['--criu', join(programs, 'criu')] });
      await expectRefusal(join(programs, 'runsc'), reason, { args: ['--isolation', 'gvisor'], programs });
      expect(existsSync(join(programs, 'has-run'))).toBe(false);
    }
  },
);

attackFromOutside(
  'changing a program that runs with the rights of the server',
  'hashes that are compared at each start',
  async () => {
    for (const { folder, args } of [
      { folder: 'criu', args: [] },
      { folder: 'runsc', args: ['--isolation', 'gvisor'] },
    ]) {
      const imagesDir = copyImages(folder);
      appendFileSync(join(imagesDir, folder, folder), 'x');
      await expectRefusal(join(imagesDir, folder, folder), 'is not as it was made', { imagesDir, args });
    }
  },
);
