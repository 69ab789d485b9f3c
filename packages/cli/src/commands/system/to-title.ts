import type { StorageKind } from '@skerry/sdk';

const titles: Record<StorageKind, string> = {
  templates: 'templates',
  buildCache: 'build cache',
  baseImages: 'base images',
  contexts: 'uploaded files',
  snapshots: 'snapshots',
  sandboxes: 'sandboxes',
  buildLogs: 'build logs',
  sandboxLogs: 'sandbox logs',
};

/** How tables name a kind; that of a newer service by its own name. */
export const toTitle = (kind: StorageKind): string => titles[kind] ?? kind;
