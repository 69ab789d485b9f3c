import type { Sandbox } from '@skerry/sdk';
import type { Service } from './service.ts';

/** What each step of the demo works with. */
export interface DemoContext {
  sandbox: Sandbox;
  service: Service;
  /** Prints a line of the step. */
  say: (line: string) => void;
}
