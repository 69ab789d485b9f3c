import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
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
  // The programs are there when a server has started.
  await (await joinStack()).leave();
});
afterAll(() => rmSync(base, { recursive: true }));

/** Starts a server of these folders, and ends it once it has written `text`. Resolves with what it has written. */
const startUntil = async (
  { dataDir, imagesDir }: { dataDir: string; imagesDir: string },
  text: string,
): Promise<string> => {
  const args = ['up', '--port', '0', '--data', dataDir, '--images', imagesDir, '--json'];
  const child = spawn(process.execPath, [skerryProgram, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let written = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (piece: string) => {
      written += piece;
      if (written.includes(text)) child.kill('SIGKILL');
    });
  await once(child, 'close');
  return written;
};

attackFromOutside(
  'putting programs into a data folder that another user owns or may write',
  'the server does not start',
  async () => {
    const changes = [
      (path: string) => chownSync(path, 54_321, 54_321),
      (path: string) => chmodSync(path, 0o777),
    ];
    for (const change of changes) {
      const dataDir = mkdtempSync(join(base, 'data-'));
      change(dataDir);
      const refusal = `${realpathSync(dataDir)} `;
      const written = await startUntil({ dataDir, imagesDir: sharedImages }, refusal);
      expect(written).toContain(refusal);
      expect(written).not.toContain('apiKey');
    }
  },
);

attackFromOutside(
  'changing a program that runs with the rights of the server',
  'hashes that are compared at each start',
  async () => {
    const imagesDir = join(base, 'images');
    mkdirSync(imagesDir, { mode: 0o755 });
    cpSync(join(sharedImages, 'criu'), join(imagesDir, 'criu'), { recursive: true });
    appendFileSync(join(imagesDir, 'criu/criu'), 'x');
    const refusal = 'is not as it was made';
    const dataDir = mkdtempSync(join(base, 'data-'));
    expect(await startUntil({ dataDir, imagesDir }, refusal)).toContain(refusal);
  },
);
