export interface LogUsage {
  count: number;
  /** The size of the entries' text. */
  sizeBytes: number;
}

export interface KeptBuild {
  templateId: string;
  /** The digest of the image. */
  image: string;
  checkpointId: string | null;
}
