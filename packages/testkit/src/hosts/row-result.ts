/** What became of one row on one host. */
export interface RowResult {
  host: string;
  row: string;
  outcome: 'passed' | 'failed' | 'skipped';
  durationMs: number;
  /** What the row says about itself, or the first line of why it failed. */
  note: string;
}

/** What a guest runs. */
export interface HostVersions {
  kernel: string;
  systemd: string;
  crun: string;
  runc: string;
}
