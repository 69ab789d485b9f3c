export interface Progress {
  phase: 'wait' | 'pull' | 'install' | 'finish';
  message: string;
  /** The done part of the whole work, 0 to 1; missing while it is unknown. */
  fraction?: number;
}

export type OnProgress = (progress: Progress) => void;
