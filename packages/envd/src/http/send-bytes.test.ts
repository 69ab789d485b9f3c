import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sendBytes } from './send-bytes.ts';

it('rejects when the connection is lost in the moment between a read and its write', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'send-bytes-'));
  writeFileSync(join(dir, 'file'), Buffer.alloc(2_000_000));
  const file = await open(join(dir, 'file'));
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  client.on('error', () => undefined).end();
  const [, res] = (await once(server, 'request')) as [unknown, ServerResponse];

  const losing = {
    async read(...parameters: Parameters<FileHandle['read']>) {
      const result = await file.read(...parameters);
      // Gone, and the response does not know yet: it takes the write and drops it.
      res.socket?.destroy();
      return result;
    },
  } as FileHandle;
  await expect(sendBytes(losing, res, { start: 0, sizeBytes: 2_000_000 })).rejects.toThrow();

  await file.close();
  server.close();
  rmSync(dir, { recursive: true });
});
