/** What the store knows of the space that records take, and of what nothing uses. */
export interface UsageStore {
  /** The entries of all logs; unneeded are those that `pruneBuildLogs` without newest builds deletes. */
  measureLogs(options: { endedBefore: number }): Promise<{
    builds: LogUsage & { unneededCount: number; unneededBytes: number };
    sandboxes: LogUsage;
  }>;
  /**
   * Deletes the log entries of builds that ended before that time and to which no tag points, except those of the newest
   * builds of each template.
   */
  pruneBuildLogs(options: { keepPerTemplate: number; endedBefore: number }): Promise<void>;
  /** The ready builds whose images are kept. */
  listKeptBuilds(): Promise<KeptBuild[]>;
  /**
   * Built templates from which no sandbox exists, which no snapshot of a sandbox needs, and of which no build waits or
   * runs.
   */
  listUnusedTemplates(): Promise<{ id: string; name: string | null }[]>;
}

export interface LogUsage {
  count: number;
  /** Of their text. */
  sizeBytes: number;
}

export interface KeptBuild {
  templateId: string;
  /** Its digest. */
  image: string;
  checkpointId: string | null;
}
