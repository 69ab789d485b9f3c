import { create } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { type EntryInfo, EntryInfoSchema } from '@skerry/envd-client/filesystem';
import { isStrict } from '../rpc/strict-client.ts';
import type { FilesystemEventInit } from './watch-tree.ts';

/** The entry as the client of this call can decode it. */
export const toEntryFor = (context: HandlerContext, entry: EntryInfo): EntryInfo => {
  if (!isStrict(context)) return entry;
  const { name, type, path } = entry;
  return create(EntryInfoSchema, { name, type, path });
};

/** The entries as the client of this call can decode them. */
export async function* toEntriesFor(
  context: HandlerContext,
  batches: AsyncIterable<EntryInfo[]>,
): AsyncGenerator<EntryInfo[]> {
  for await (const batch of batches) yield batch.map((entry) => toEntryFor(context, entry));
}

/** The event as the client of this call can decode it. */
export const toEventFor = (context: HandlerContext, event: FilesystemEventInit): FilesystemEventInit => {
  if (!isStrict(context)) return event;
  const { name, type } = event;
  return { name, type } as FilesystemEventInit;
};
