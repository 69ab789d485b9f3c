import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { initTls } from '../../certificates/init-tls.ts';
import { readCertificate } from './read-certificate.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'skerry-read-tls-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('the files of a server', () => {
  it.each([
    ['another domain', 'other.test', {}, /must be for other\.test and \*\.other\.test/],
    ['no certificate', 'boxes.test', { cert: 'ca.key' }, /has no certificate in PEM form/],
    ['another key', 'boxes.test', { key: 'ca.key' }, /has no key for the certificate/],
    ['a missing file', 'boxes.test', { key: 'nothing' }, /^--tls-key: ENOENT/],
  ])(
    'are refused with %s',
    async (_what, domain, {
      cert = 'tls.crt',
      key = 'tls.key',
    }: { cert?: string; key?: string }, message) => {
      await initTls({ dir, domain: 'boxes.test', days: 30, renew: false });
      const files = { cert: join(dir, cert), key: join(dir, key) };
      await expect(readCertificate(files, domain)).rejects.toThrow(message);
    },
  );
});
