import type { IncomingMessage } from 'node:http';
import { agentPort } from '@skerry/contract/directory';
import type { Target } from './target.ts';

const call = /^\/(process\.Process|filesystem\.Filesystem)\//;

/** Whether a request is a call to the agent that does not declare its version of the Connect protocol. */
export const lacksProtocolVersion = (target: Target, { url = '', headers }: IncomingMessage): boolean =>
  target.port === agentPort && call.test(url) && headers['connect-protocol-version'] === undefined;
