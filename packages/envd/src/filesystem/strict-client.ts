import type { HandlerContext } from '@connectrpc/connect';
import type { EntryInfoInit } from './entry-info.ts';
import type { FilesystemEventInit } from './watch-tree.ts';

/** Early Python clients, which name nothing but their library, fail on any field that came after the first version. */
const isStrict = ({ requestHeader }: HandlerContext): boolean =>
  requestHeader.get('user-agent') === 'connect-python';

/** The entry as the client of this call can decode it. */
export const toEntryFor = (context: HandlerContext, entry: EntryInfoInit): EntryInfoInit => {
  if (!isStrict(context)) return entry;
  const { name, type, path } = entry;
  return { name, type, path } as EntryInfoInit;
};

/** The event as the client of this call can decode it. */
export const toEventFor = (context: HandlerContext, event: FilesystemEventInit): FilesystemEventInit => {
  if (!isStrict(context)) return event;
  const { name, type } = event;
  return { name, type } as FilesystemEventInit;
};
