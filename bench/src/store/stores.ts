import { join } from 'node:path';
import { createStore, type Store } from '@skerry/platform';
import { createPostgresStore } from '@skerry/platform/postgres';
import { findPostgres, startPostgres } from '@skerry/platform/postgres-server';
import { temporaryFolder } from '../harness/temporary-folder.ts';
import { type Row, toUnmeasuredRow } from '../report/row.ts';

/** Empty stores on the same disk. */
export interface Stores {
  postgres: Store;
  sqlite: Store;
}

/** Opens both stores, which sync each commit and are removed with the resources. Undefined without PostgreSQL. */
export async function openStores(resources: AsyncDisposableStack): Promise<Stores | undefined> {
  if (findPostgres() === undefined) return undefined;
  const server = await startPostgres({ isDurable: true });
  resources.defer(() => server.remove());
  const postgres = await createPostgresStore({ url: await server.createDatabase(), secret: 'secret' });
  resources.defer(() => postgres.close());
  const sqlite = await createStore({ path: join(temporaryFolder(resources), 'skerry.db'), secret: 'secret' });
  resources.defer(() => sqlite.close());
  return { postgres, sqlite };
}

/** The row of a figure on a host without PostgreSQL. */
export const withoutPostgres = (name: string, unit: string): Row =>
  toUnmeasuredRow({ name, unit, reason: 'PostgreSQL is not installed' });

/** Reserves a sandbox, started at the time `number`. Rejects unless it gets a place. */
export async function reserve(store: Store, id: string, number: number): Promise<void> {
  const reserved = await store.reserveSandbox(
    {
      id,
      project: 'local',
      keyId: null,
      templateId: 'base',
      templateName: 'base',
      snapshotId: null,
      buildId: null,
      createdAt: number,
      endAt: Number.MAX_SAFE_INTEGER,
      metadata: { user: `user-${number % 100}`, purpose: 'benchmark' },
      envVars: { LANG: 'C.UTF-8' },
      defaultUser: '',
      defaultWorkdir: '',
      secure: true,
      network: null,
      ingress: null,
      isolation: 'container' as const,
      autoPause: null,
      wakeMs: null,
      cpuCount: 2,
      memoryMb: 512,
      diskMb: 10_240,
    },
    { maxActive: Number.MAX_SAFE_INTEGER },
  );
  if (reserved !== 'reserved')
    throw new Error(`reserving a sandbox resolved with ${JSON.stringify(reserved)}`);
}

/** Calls `act` with each number below `count`, `atATime` calls at a time. */
export async function forEachNumber(
  count: number,
  atATime: number,
  act: (number: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: atATime }, work));
}
