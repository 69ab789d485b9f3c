import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { builds, freeDisk, startCommands } from './build-tables.ts';
import { buildCache, imageConfig } from './cache/cache-tables.ts';
import { leases } from './leases/lease-tables.ts';
import { logs } from './log-tables.ts';
import { metrics } from './metric-tables.ts';
import { nodes } from './nodes/node-tables.ts';
import type { Schema } from './schema.ts';
import { snapshots } from './snapshot-tables.ts';
import { storedImages, storedSnapshots } from './stored/stored-tables.ts';
import { tags } from './tags/tag-tables.ts';

const initial: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('templates')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('cpu_count', 'integer', (column) => column.notNull())
      .addColumn('memory_mb', 'integer', (column) => column.notNull())
      .addColumn('disk_mb', 'integer', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('template_names')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('template_id', 'text', (column) => column.notNull().references('templates.id'))
      .execute();
    await db.schema
      .createTable('sandboxes')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('template_id', 'text', (column) => column.notNull())
      .addColumn('template_name', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('run_id', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('end_at', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint')
      .addColumn('cause', 'text')
      .addColumn('metadata', 'text', (column) => column.notNull())
      .addColumn('env_vars', 'text', (column) => column.notNull())
      .addColumn('secure', 'integer', (column) => column.notNull())
      .addColumn('network', 'text')
      .addColumn('network_pending', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('cpu_count', 'integer', (column) => column.notNull())
      .addColumn('memory_mb', 'integer', (column) => column.notNull())
      .addColumn('disk_mb', 'integer', (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex('sandboxes_by_start')
      .on('sandboxes')
      .columns(['state', 'started_at', 'id'])
      .execute();
    await db.schema
      .createTable('sandbox_metadata')
      .addColumn('sandbox_id', 'text', (column) =>
        column.notNull().references('sandboxes.id').onDelete('cascade'),
      )
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('value', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('sandbox_metadata_key', ['sandbox_id', 'key'])
      .execute();
    await db.schema
      .createTable('api_keys')
      .addColumn('hash', 'text', (column) => column.primaryKey())
      .addColumn('mask', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('last_used_at', 'bigint')
      .execute();
  },
};

const pause: Migration = {
  async up(db: Kysely<unknown>) {
    // One column for each statement: SQLite adds only one at a time.
    await db.schema.alterTable('sandboxes').addColumn('auto_pause', 'text').execute();
    await db.schema.alterTable('sandboxes').addColumn('paused_at', 'bigint').execute();
    await db.schema.alterTable('sandboxes').addColumn('paused_with', 'text').execute();
  },
};

const warm: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('warm_instances')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('spec', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
  },
};

const warmNodes: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('warm_instances').addColumn('node', 'text').execute();
  },
};

const timeToLive: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .alterTable('sandboxes')
      .addColumn('time_to_live_ms', 'bigint', (column) => column.notNull().defaultTo(300_000))
      .execute();
  },
};

/** In order of their names. Never change a released migration. */
export const migrations: Record<string, Migration> = {
  '0001_initial': initial,
  '0002_pause': pause,
  '0003_warm': warm,
  '0004_metrics': metrics,
  '0005_snapshots': snapshots,
  '0006_logs': logs,
  '0007_builds': builds,
  '0009_tags': tags,
  '0010_start_commands': startCommands,
  '0011_build_cache': buildCache,
  '0012_image_config': imageConfig,
  '0013_free_disk': freeDisk,
  '0014_nodes': nodes,
  '0015_leases': leases,
  '0016_stored_snapshots': storedSnapshots,
  '0017_warm_nodes': warmNodes,
  '0018_stored_images': storedImages,
  '0019_time_to_live': timeToLive,
};

export type Database = Kysely<Schema>;
