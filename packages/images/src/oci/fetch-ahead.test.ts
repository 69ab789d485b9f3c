import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OnProgress } from '../progress.ts';
import { createLayerSink } from './layer-sink.ts';
import { pullImage } from './pull.ts';
import { type LoopbackRegistry, startLoopbackRegistry } from './testing/loopback-registry.ts';

let rootfs: string;
let server: LoopbackRegistry;
beforeEach(async () => {
  rootfs = join(mkdtempSync(join(tmpdir(), 'skerry-fetch-ahead-')), 'rootfs');
  server = await startLoopbackRegistry();
});
afterEach(async () => {
  await server.close();
  rmSync(dirname(rootfs), { recursive: true, force: true });
});

const pull = (onProgress: OnProgress = () => undefined): Promise<unknown> =>
  pullImage({ reference: `${server.host}/some/image:v1`, tree: createLayerSink(rootfs), onProgress });

describe('a pull of several layers', () => {
  it('requests three layers at a time, and applies them in their order', async () => {
    const layers = await Promise.all(
      [1, 2, 3, 4, 5].map((number) => server.addLayer([{ name: 'last', content: `${number}` }], 'none')),
    );
    server.addImage('v1', layers);
    const held: (() => void)[] = [];
    let most = 0;
    server.intercept = ({ url = '' }, response) => {
      const content = server.findBlob(url.slice(url.lastIndexOf('/') + 1));
      if (content === undefined) return false;
      held.push(() => response.end(content));
      most = Math.max(most, held.length);
      // Nothing is answered before three have asked; the first is answered last.
      if (held.length === 3 || server.requests.length > 4) while (held.length > 0) held.pop()?.();
      return true;
    };
    const messages: string[] = [];
    await pull(({ message }) => messages.push(message));
    expect(most).toBe(3);
    expect(messages).toContain('pulling layer 5 of 5, 0.0 MiB (0.0 MiB of 0.0 MiB received)');
    expect(readFileSync(join(rootfs, 'last'), 'utf8')).toBe('5');
  });

  it('fails with the error of a layer that was requested ahead, and ends all requests', async () => {
    const first = await server.addLayer([{ name: 'a', content: 'x'.repeat(100_000) }], 'none');
    const second = await server.addLayer([{ name: 'b', content: 'x' }], 'none');
    const third = await server.addLayer([{ name: 'c', content: 'x' }], 'none');
    server.addImage('v1', [first, second, third]);
    const ended = Promise.withResolvers<void>();
    server.intercept = ({ url = '' }, response) => {
      if (url.endsWith(second.digest)) return Boolean(response.writeHead(403).end());
      if (!url.endsWith(third.digest)) return false;
      response.on('close', ended.resolve).writeHead(200).write('x');
      return true;
    };
    await expect(pull()).rejects.toMatchObject({ code: 'registry_refused' });
    await ended.promise;
  });
});
