import { setTimeout as delay } from 'node:timers/promises';
import type { EnvdClient } from '@skerry/envd-client';
import { EventType, type FilesystemEvent } from '@skerry/envd-client/filesystem';

export interface WatchById {
  readonly id: string;
  /** Collects until an event with this text has come, and returns all events since the last call. */
  until(text: string): Promise<FilesystemEvent[]>;
}

const TYPE_NAMES = Object.fromEntries(Object.entries(EventType).map(([name, value]) => [value, name]));

/** `CREATE name`, for comparison. */
export const toText = ({ type, name }: FilesystemEvent): string => `${TYPE_NAMES[type]} ${name}`;

const WAIT_MS = 20_000;

/** Watches a directory of a sandbox by a watcher that is asked for its events. */
export const watchById = async (
  { filesystem }: EnvdClient,
  request: { path: string; recursive?: boolean; includeEntry?: boolean },
): Promise<WatchById> => {
  const { watcherId } = await filesystem.createWatcher(request);
  return {
    id: watcherId,
    async until(text) {
      const events: FilesystemEvent[] = [];
      const deadlineMs = performance.now() + WAIT_MS;
      while (!events.some((event) => toText(event) === text)) {
        if (performance.now() > deadlineMs) {
          throw new Error(`no "${text}" among ${JSON.stringify(events.slice(-50).map(toText))}`);
        }
        events.push(...(await filesystem.getWatcherEvents({ watcherId })).events);
        await delay(10);
      }
      return events;
    },
  };
};
