// Generated from specs/openapi.yaml by "pnpm gen". Do not edit.
import type { components } from './schema.ts';

/** What the sandbox uses now, as the agent reports it. */
export type AgentMetrics = components['schemas']['AgentMetrics'];

/** Every error of the platform API and of the sandbox API. */
export type ErrorBody = components['schemas']['ErrorBody'];

/** Which files to join, and where the result goes. */
export type FileComposition = components['schemas']['FileComposition'];

/** Answered by the edge in place of a sandbox that cannot. Both spellings of the id hold the same value. */
export type SandboxNotFoundError = components['schemas']['SandboxNotFoundError'];

/** Answered by the edge in place of a busy sandbox. Both spellings of the id hold the same value. */
export type TooManyConnectionsError = components['schemas']['TooManyConnectionsError'];

/** One file that was written. */
export type UploadedFile = components['schemas']['UploadedFile'];
