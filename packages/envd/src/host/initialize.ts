import type { AgentInit } from '@skerry/contract/agent-control';
import { invalid } from '@skerry/contract/error';
import { NEW_SETTINGS, type Settings } from '../settings.ts';

export interface Initialization {
  settings: Settings;
  /** The host has begun a new run: it showed another nonce than the last time, or this is a copy. */
  isNewRun: boolean;
  /** The agent was that of another sandbox, of which this one is a copy with its processes. */
  isCopy: boolean;
  /** When the host sent it, in milliseconds since the epoch: the order of two initialisations. */
  timestampMs: number | undefined;
}

/** Features of the protocol that this agent lacks. Naming one must fail, or the caller would believe in it. It takes no token but its hash. */
const LACKING = ['accessToken', 'volumeMounts', 'caBundle', 'hyperloopIP', 'lifecycleID'] as const;

const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

const parseText = (
  body: Partial<Record<keyof AgentInit, unknown>>,
  name: keyof AgentInit,
): string | undefined => {
  const value = body[name];
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'string' || value.includes('\0')) throw invalid(`${name} must be a string`);
  return value;
};

const parseSecret = (
  body: Partial<Record<keyof AgentInit, unknown>>,
  name: keyof AgentInit,
): string | undefined => {
  const value = parseText(body, name);
  if (value !== undefined && !/^[0-9a-f]{64}$/.test(value)) throw invalid(`${name} must be 256 bits in hex`);
  return value;
};

const parseLimit = (
  body: Partial<Record<keyof AgentInit, unknown>>,
  name: keyof AgentInit,
): number | undefined => {
  const value = body[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !(value > 0)) throw invalid(`${name} must be a number above 0`);
  return value;
};

/** Checks names and values that reach `execve`, where `=` and NUL would change their meaning. */
export const parseEnvVars = (value: unknown, field: string): Record<string, string> => {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalid(`${field} must be an object of strings`);
  for (const [name, text] of Object.entries(value)) {
    if (name === '' || name.includes('=') || name.includes('\0')) {
      throw invalid(
        `${field} holds the name ${JSON.stringify(name)}; names are not empty and have no "=" or NUL`,
      );
    }
    if (typeof text !== 'string' || text.includes('\0')) {
      throw invalid(`${field}.${name} must be a string without NUL`);
    }
  }
  return { ...(value as Record<string, string>) };
};

/**
 * Turns the body of `POST /init` into settings. `envVars` replaces the variables of before. An omitted field keeps its value. After
 * a fork, which shows by another id, an omitted field is cleared, the hash of the token too. Throws `invalid_argument` naming the field.
 */
export const parseInitialization = (body: unknown, current: Settings): Initialization => {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalid('body must be an object');
  const fields: Partial<Record<keyof AgentInit | (typeof LACKING)[number], unknown>> = body;
  for (const name of LACKING) {
    if (!isAbsent(fields[name])) throw invalid(`${name} is not supported`);
  }
  const timestamp = parseText(fields, 'timestamp');
  const timestampMs = timestamp === undefined ? undefined : Date.parse(timestamp);
  if (Number.isNaN(timestampMs)) throw invalid('timestamp must be an RFC 3339 date and time');
  const sandboxId = parseText(fields, 'sandboxId') ?? current.sandboxId;
  const isCopy = current.sandboxId !== undefined && sandboxId !== current.sandboxId;
  const previous = isCopy ? NEW_SETTINGS : current;
  const edgeNonce = parseSecret(fields, 'edgeNonce') ?? previous.edgeNonce;
  return {
    isCopy,
    isNewRun: isCopy || edgeNonce !== current.edgeNonce,
    timestampMs,
    settings: {
      sandboxId,
      templateId: parseText(fields, 'templateId') ?? previous.templateId,
      envVars: parseEnvVars(fields.envVars, 'envVars'),
      accessTokenSha256: parseSecret(fields, 'accessTokenSha256') ?? previous.accessTokenSha256,
      edgeNonce,
      cpuCount: parseLimit(fields, 'cpuCount') ?? previous.cpuCount,
      memoryMb: parseLimit(fields, 'memoryMb') ?? previous.memoryMb,
      defaultUser: parseText(fields, 'defaultUser') ?? previous.defaultUser,
      defaultWorkdir: parseText(fields, 'defaultWorkdir') ?? previous.defaultWorkdir,
    },
  };
};
