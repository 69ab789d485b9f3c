import { RuntimeError, type RuntimeErrorCode } from '@skerry/runtime';
import { expect, it } from 'vitest';
import { type ExportOptions, exportBase } from './export-base.ts';
import type { BaseWork } from './find-base.ts';

it.each<[RuntimeErrorCode, string]>([
  ['not_found', 'the snapshot box was deleted'],
  ['damaged', 'the snapshot box is damaged'],
  ['unsupported', 'the snapshot box cannot be read: this host has no snapshots'],
])('a build from a snapshot whose host answers %s says why', async (code, message) => {
  const hosts = {
    features: { minimumLevel: 'container' },
    ofSnapshot: async () => Promise.reject(new RuntimeError(code, 'this host has no snapshots')),
  };
  const work = {
    log: { add: () => {} },
    share: { settle: async () => undefined },
    signal: new AbortController().signal,
    force: false,
  } as unknown as BaseWork;
  const options = { hosts, secret: 'secret', ids: {}, cache: {} } as unknown as ExportOptions;
  const source = { name: 'box', snapshot: { id: 's1', isolation: 'container' } };
  const exported = exportBase(source as Parameters<typeof exportBase>[0], work, options);
  await expect(exported).rejects.toMatchObject({ name: 'BuildError', message });
});
