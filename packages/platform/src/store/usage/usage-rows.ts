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
