import { SandboxError, type SandboxErrorCode } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { type Kind, toMissingHint } from './kind.ts';

/** What a user reads of an error: one line, and where there is one, a line that says what to do and what a program has written. */
export interface Explanation {
  message: string;
  hint?: string | undefined;
  /** Lines that are printed before. */
  output?: readonly string[] | undefined;
}

const apiHints: Partial<Record<SandboxErrorCode, string>> = {
  invalid_argument: '"--help" of the command shows what its options accept',
  resource_exhausted: 'end some sandboxes, or raise --max-sandboxes of "skerry up"',
  insufficient_storage: 'remove files in the sandbox, or make room on the disk of the server',
  unimplemented: '"skerry doctor" on the machine of the server says why, and how to enable it',
  unauthenticated: 'pass the key that "skerry up" has printed by --api-key, or set SKERRY_API_KEY',
  permission_denied: 'pass the key that "skerry up" has printed by --api-key, or set SKERRY_API_KEY',
  sandbox_unavailable: '"skerry sandbox list" shows which sandboxes there are',
  unavailable: 'the same command may succeed later',
};

/** Codes of errors.h that a user can do something about; the names are those of `NodeJS.ErrnoException`. */
const systemHints: Record<string, string> = {
  EADDRINUSE: 'name another port by --port, 0 for a free one',
  EADDRNOTAVAIL: 'name an address of this machine by --host',
  EACCES: 'run it as the owner of that file, or as root',
  ENOSPC: 'make room on that disk',
};

/** Why no answer came, by the code of the connection's own error. */
const connectionHints: Record<string, string> = {
  ECONNREFUSED: 'start the server with "skerry up", or name another by --api-url',
  ENOTFOUND: 'no name server knows that host; correct --api-url or --domain',
  EAI_AGAIN: 'no name server answers; correct --api-url or --domain',
  // What undici and OpenSSL report of a peer that speaks the other of the two protocols.
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server speaks http: write http:// in --api-url',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'the server speaks http: write http:// in --api-url',
  // undici's name for an answer that is no HTTP; it has a code in some releases only.
  HTTPParserError: 'the server speaks https: write https:// in --api-url',
  UND_ERR_SOCKET: 'the server closed the connection; it may speak https: write https:// in --api-url',
  ECONNRESET: 'the server closed the connection; it may speak https: write https:// in --api-url',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'name the authority of its certificate by NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: 'name the authority of its certificate by NODE_EXTRA_CA_CERTS',
};

/**
 * Explains an error of the API, of the operating system or of the command line; `kind` is what an unknown id or name stands for.
 * Undefined for any other error, which is a defect of this program.
 */
export function explainFailure(error: unknown, kind?: Kind): Explanation | undefined {
  const explained = explain(error, kind);
  return explained && { ...explained, message: toOneLine(explained.message) };
}

/** OpenSSL ends its messages with a line end. */
const toOneLine = (message: string): string => message.trim().replaceAll(/\s*\n\s*/g, ' ');

function explain(error: unknown, kind: Kind | undefined): Explanation | undefined {
  if (error instanceof UserError) return { message: error.message, hint: error.hint, output: error.output };
  if (error instanceof SandboxError) return { message: toTyped(error), hint: toHint(error, kind) };
  if (isSystemError(error)) return { message: error.message, hint: systemHints[error.code] };
  return undefined;
}

function toHint(error: SandboxError, kind: Kind | undefined): string | undefined {
  if (error.code === 'connection_failed') return toConnectionHint(error);
  if (error.code === 'not_found') return kind && toMissingHint(kind);
  return apiHints[error.code];
}

/** The options of commands, by the field of a request that has their value. */
const optionsOfFields: Record<string, string> = {
  timeout: '--timeout',
  envVars: '--env',
  metadata: '--metadata',
  name: '--name',
  count: '--count',
  memory: '--no-memory',
  cpuCount: '--cpu',
  memoryMB: '--memory',
  tags: '--tag',
};

/** The message, with the names that a user has typed in place of those in the request. */
const toTyped = ({ message }: SandboxError): string =>
  message.replaceAll(/\bbody\.(\w+)/g, (field, name: string) => optionsOfFields[name] ?? field);

function toConnectionHint(error: Error): string | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    const hint = connectionHints[code] ?? connectionHints[cause.name];
    if (hint !== undefined) return hint;
  }
  return undefined;
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException & { code: string } =>
  error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
