import type { IsolationLevel } from '@skerry/contract/isolation';
import type { Sandbox } from 'e2b-oldest';
import type { E2b, TestedClient } from './clients.ts';

/** What a scenario works with: the client as its user imports it, and a running sandbox made with it. */
export interface Given {
  readonly client: TestedClient;
  readonly e2b: E2b;
  /** The template of sandboxes whose create names none. */
  readonly template: string;
  readonly isolation: IsolationLevel;
  readonly sandbox: Sandbox;
}

/** A scenario registers its tests before there is anything to work with, so it gets a way to ask. */
export type Ask = () => Given;
