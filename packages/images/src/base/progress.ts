export interface Progress {
  phase: 'wait' | 'pull' | 'install' | 'finish';
  message: string;
  /** Of the whole making, 0 to 1; absent while nothing can be said. */
  fraction?: number;
}

export type OnProgress = (progress: Progress) => void;
