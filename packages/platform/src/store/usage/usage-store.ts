/** What the store knows of the space that records take, and of what nothing uses. */
export interface UsageStore {
  /** The entries of all logs. */
  measureLogs(): Promise<{
    builds: LogUsage & { unneededCount: number; unneededBytes: number };
    sandboxes: LogUsage;
  }>;
  /**
   * Deletes the log entries of ended builds to which no tag points, except those of the newest builds of each template.
   */
  pruneBuildLogs(options: { keepPerTemplate: number }): Promise<void>;
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
