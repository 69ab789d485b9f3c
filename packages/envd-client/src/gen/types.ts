// Generated from specs/openapi.yaml by "pnpm gen". Do not edit.
import type { components } from './schema.ts';

/** The present usage of the sandbox, as the agent reports it. */
export type AgentMetrics = components['schemas']['AgentMetrics'];

/** Every error of the platform API and of the sandbox API. */
export type ErrorBody = components['schemas']['ErrorBody'];

/** The files to join, and the destination. */
export type FileComposition = components['schemas']['FileComposition'];

/** What inside the sandbox prevents keeping its memory, with `error_code` `memory_not_kept`. The sandbox runs on. With status 503 it ends by itself within seconds, with 409 it does not. */
export type Obstacle = components['schemas']['Obstacle'];

/** Sent by the edge for a sandbox that cannot respond. Both spellings of the id have the same value. */
export type SandboxNotFoundError = components['schemas']['SandboxNotFoundError'];

/** Sent by the edge for a paused sandbox that a request has not resumed. Both spellings of the id have the same value. */
export type SandboxNotResumedError = components['schemas']['SandboxNotResumedError'];

/** Sent by the edge for a busy sandbox. Both spellings of the id have the same value. */
export type TooManyConnectionsError = components['schemas']['TooManyConnectionsError'];

/** One file that was written. */
export type UploadedFile = components['schemas']['UploadedFile'];
