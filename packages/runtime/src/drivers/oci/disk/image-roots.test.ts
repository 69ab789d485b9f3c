import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toSandboxFolder } from '../folder.ts';
import { createImageRoots } from './image-roots.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'skerry-image-roots-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

describe('createImageRoots', () => {
  it.each(['', 'null', '{}', '{"spec":null}', '{"spec":{}}', '{"spec":{"rootfs":1}}', '[]'])(
    'begins beside a sandbox whose record is %j',
    async (text) => {
      const { record } = toSandboxFolder(dataDir, 'damaged');
      mkdirSync(dirname(record), { recursive: true });
      writeFileSync(record, text);
      const roots = createImageRoots(dataDir);
      await expect(roots.close()).resolves.toBeUndefined();
    },
  );
});
