import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Log } from '@skerry/platform';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UserError } from '../user-error.ts';
import { openServerBlobs } from './server-blobs.ts';

let folder: string;
const logged: string[] = [];
const note = (message: string): void => void logged.push(message);
const log: Log = { debug: note, info: note, warn: note, error: note };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-server-blobs-'));
  logged.length = 0;
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

describe('the blob store of a server', () => {
  it('belongs to the installation that has used it first', async () => {
    const choice = { kind: 'folder', folder: join(folder, 'blobs') } as const;
    const first = await openServerBlobs(choice, { installation: 'one', log });
    await first.put('a', Readable.from(['x']));
    await first.close();
    await (await openServerBlobs(choice, { installation: 'one', log })).close();
    await expect(openServerBlobs(choice, { installation: 'two', log })).rejects.toThrow(UserError);
    expect(readdirSync(choice.folder).toSorted()).toEqual(['a', 'installation']);
    expect(logged).toEqual([]);
  });

  it('loses each hour what a killed server was storing a day before', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
    const choice = { kind: 'folder', folder: join(folder, 'blobs') } as const;
    const blobs = await openServerBlobs(choice, { installation: 'one', log });
    writeFileSync(join(choice.folder, '.new-killed'), 'half');
    const left = (): string[] => readdirSync(choice.folder).toSorted();
    vi.advanceTimersByTime(23 * 3_600_000);
    await blobs.head('installation');
    expect(left()).toEqual(['.new-killed', 'installation']);
    vi.advanceTimersByTime(3 * 3_600_000);
    await vi.waitFor(() => expect(left()).toEqual(['installation']));
    await blobs.close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is used later when it cannot be reached, and stops the start when it can never be used', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'key');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    const closed = { kind: 's3', bucket: 'b', region: 'r', endpoint: 'http://127.0.0.1:1' } as const;
    const blobs = await openServerBlobs(closed, { installation: 'one', log });
    expect(logged).toEqual([expect.stringContaining('the server starts without it')]);
    await expect(blobs.head('a')).rejects.toMatchObject({ name: 'BlobError', code: 'unavailable' });
    await blobs.close();
    writeFileSync(join(folder, 'file'), '');
    const wrong = { kind: 'folder', folder: join(folder, 'file') } as const;
    await expect(openServerBlobs(wrong, { installation: 'one', log })).rejects.toThrow(
      'the blob store cannot be used',
    );
  });
});
