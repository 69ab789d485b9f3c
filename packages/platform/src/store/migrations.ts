import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { createTable } from './columns.ts';

const size = { cpuCount: 'integer', memoryMb: 'integer', diskMb: 'integer' } as const;

async function createTables(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'templates', {
    columns: { id: 'text', project: 'text', kind: 'text', public: 'boolean', createdAt: 'bigint', ...size },
    key: ['id'],
  });
  await createTable(db, 'templateNames', {
    columns: { project: 'text', name: 'text', templateId: 'text' },
    key: ['project', 'name'],
    references: { templateId: 'templates' },
  });
  await createTable(db, 'sandboxes', {
    columns: {
      id: 'text',
      project: 'text',
      keyId: 'text?',
      templateId: 'text',
      templateName: 'text?',
      snapshotId: 'text?',
      buildId: 'text?',
      state: 'text',
      runId: 'text?',
      createdAt: 'bigint',
      startedAt: 'bigint',
      endAt: 'bigint',
      timeToLiveMs: 'bigint',
      endedAt: 'bigint?',
      cause: 'text?',
      metadata: 'text',
      envVars: 'text',
      defaultUser: 'text',
      defaultWorkdir: 'text',
      secure: 'boolean',
      isolation: 'text',
      network: 'text?',
      networkPending: 'boolean',
      ingress: 'text?',
      autoPause: 'text?',
      wakeMs: 'bigint?',
      pausedAt: 'bigint?',
      pausedWith: 'text?',
      node: 'text?',
      ...size,
    },
    key: ['id'],
    indexes: { sandboxesByStart: ['state', 'startedAt', 'id'], sandboxesByKey: ['keyId', 'state'] },
  });
  await createTable(db, 'sandboxMetadata', {
    columns: { sandboxId: 'text', key: 'text', value: 'text' },
    key: ['sandboxId', 'key'],
    child: { sandboxId: 'sandboxes' },
  });
  await createTable(db, 'sandboxMetrics', {
    columns: {
      sandboxId: 'text',
      at: 'bigint',
      grain: 'integer',
      cpuUsedPct: 'real',
      memoryBytes: 'bigint',
      cacheBytes: 'bigint',
      diskBytes: 'bigint',
    },
    key: ['sandboxId', 'at'],
    child: { sandboxId: 'sandboxes' },
    indexes: { sandboxMetricsByGrain: ['grain', 'at'] },
  });
  await createTable(db, 'sandboxLogs', {
    columns: {
      sandboxId: 'text',
      at: 'bigint',
      level: 'integer',
      logger: 'text',
      message: 'text',
      fields: 'text',
      sizeBytes: 'integer',
    },
    child: { sandboxId: 'sandboxes' },
    indexes: { sandboxLogsOfSandbox: ['sandboxId', 'at', 'id'], sandboxLogsByTime: ['at'] },
  });
  await createTable(db, 'logSources', {
    columns: { sandboxId: 'text', origin: 'text', seq: 'bigint', storedBytes: 'bigint' },
    key: ['sandboxId'],
    child: { sandboxId: 'sandboxes' },
  });
  await createTable(db, 'snapshots', {
    columns: {
      id: 'text',
      project: 'text',
      templateId: 'text?',
      sandboxId: 'text',
      parentId: 'text?',
      buildId: 'text?',
      state: 'text',
      kind: 'text',
      isolation: 'text',
      createdAt: 'bigint',
      node: 'text?',
      ...size,
    },
    key: ['id'],
    indexes: { snapshotsByCreation: ['createdAt', 'id'] },
  });
  await createTable(db, 'templateTags', {
    columns: { templateId: 'text', tag: 'text', snapshotId: 'text' },
    key: ['templateId', 'tag'],
    references: { templateId: 'templates', snapshotId: 'snapshots' },
    indexes: { templateTagsBySnapshot: ['snapshotId'] },
  });
  await createTable(db, 'builds', {
    columns: {
      id: 'text',
      project: 'text',
      templateId: 'text',
      state: 'text',
      createdAt: 'bigint',
      startedAt: 'bigint?',
      finishedAt: 'bigint?',
      minFreeDiskMb: 'integer',
      isolation: 'text?',
      tags: 'text',
      env: 'text',
      runConfig: 'text',
      image: 'text?',
      imageBytes: 'bigint?',
      start: 'text?',
      checkpointId: 'text?',
      reason: 'text?',
      request: 'text?',
      ...size,
    },
    key: ['id'],
    indexes: { buildsByTemplate: ['templateId', 'createdAt'] },
  });
  await createTable(db, 'buildTags', {
    columns: {
      templateId: 'text',
      tag: 'text',
      buildId: 'text',
      requestedAt: 'bigint',
      assignedAt: 'bigint',
    },
    key: ['templateId', 'tag'],
    references: { templateId: 'templates', buildId: 'builds' },
  });
  await createTable(db, 'buildLogs', {
    columns: {
      buildId: 'text',
      position: 'integer',
      at: 'bigint',
      level: 'text',
      message: 'text',
      step: 'text?',
    },
    key: ['buildId', 'position'],
    child: { buildId: 'builds' },
  });
  await createTable(db, 'buildCache', {
    columns: {
      key: 'text',
      parent: 'text?',
      description: 'text',
      snapshotId: 'text?',
      image: 'text?',
      imageBytes: 'bigint?',
      config: 'text?',
      createdAt: 'bigint',
      lastUsedAt: 'bigint',
    },
    key: ['key'],
    indexes: { buildCacheByParent: ['parent'] },
  });
  await createTable(db, 'nodes', {
    columns: {
      name: 'text',
      address: 'text',
      epoch: 'bigint',
      cordoned: 'boolean',
      seenAt: 'bigint?',
      lostAt: 'bigint?',
      status: 'text?',
    },
    key: ['name'],
  });
  await createTable(db, 'leases', {
    columns: { name: 'text', owner: 'text', address: 'text', renewedAt: 'bigint', expiresAt: 'bigint' },
    key: ['name'],
  });
  await createTable(db, 'warmInstances', {
    columns: { id: 'text', spec: 'text', createdAt: 'bigint', node: 'text?' },
    key: ['id'],
  });
  await createTable(db, 'blobCopies', {
    columns: {
      id: 'text',
      state: 'text',
      sandboxId: 'text?',
      pausedAt: 'bigint?',
      snapshotId: 'text?',
      image: 'text?',
      lease: 'text',
      owner: 'text?',
      createdAt: 'bigint',
      manifestSha256: 'text?',
      templateDigest: 'text?',
      sizeBytes: 'bigint?',
      imageBytes: 'bigint?',
    },
    key: ['id'],
    indexes: { blobCopiesBySandbox: ['sandboxId', 'pausedAt'] },
  });
  await createTable(db, 'keyedCalls', {
    columns: {
      id: 'text',
      caller: 'text',
      fingerprint: 'text',
      createdAt: 'bigint',
      answer: 'text?',
      owner: 'text?',
    },
    key: ['id'],
    indexes: { keyedCallsByCaller: ['caller', 'createdAt'] },
  });
  await createTable(db, 'apiKeys', {
    columns: {
      id: 'text',
      hash: 'text',
      firstCharacters: 'text',
      lastCharacters: 'text',
      name: 'text',
      project: 'text?',
      readOnly: 'boolean',
      limits: 'text',
      createdAt: 'bigint',
      lastUsedAt: 'bigint?',
      revokedAt: 'bigint?',
    },
    key: ['hash'],
    indexes: { apiKeysById: ['id'] },
  });
}

/** The migrations in order of their names. Never change a released migration. */
export const migrations: Record<string, Migration> = { '0001_all_tables': { up: createTables } };
