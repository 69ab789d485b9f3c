/**
 * The private channel: HTTP/1.1 over a socket that only the host and the root of the sandbox can open. The agent still checks
 * what arrives, and the platform believes nothing that the agent sends: these types say what each side sends.
 */
export const controlPaths = {
  init: '/init',
  usage: '/usage',
  logs: '/logs',
  selfTest: '/self-test',
} as const;

/** What the host posts, by path. The agent answers 204 when it has applied all of it. */
export interface ControlBodies {
  '/init': AgentInit;
  '/usage': SandboxUsage;
}

/** What the agent of a sandbox receives before it answers anything else. */
export interface AgentInit {
  sandboxId: string;
  templateId: string;
  /** Replaces the variables that the agent had. */
  envVars: Record<string, string>;
  /** Without a token the agent answers every caller. */
  accessToken?: string;
  /** RFC 3339. The agent ignores an initialization that is older than the last one. */
  timestamp: string;
  defaultUser: string;
  /** Absolute. Without one it is the home of the default user. */
  defaultWorkdir?: string;
}

/** What a sandbox uses, and of how much. Only the host can measure it: control groups are masked inside. */
export interface SandboxUsage {
  /** Milliseconds since the epoch. */
  timestampMs: number;
  cpuCount: number;
  /** 0 to 100, of all its processors together. */
  cpuUsedPct: number;
  memoryTotalBytes: number;
  memoryUsedBytes: number;
  memoryCacheBytes: number;
  diskTotalBytes: number;
  diskUsedBytes: number;
}

/** From the least to the most serious. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** A query of `GET /logs`. */
export interface LogRequest {
  /** The last entry that the host has; one of another origin means that it has none. */
  after: LogPosition | undefined;
  /** Keeps the answer open for entries to come, until the host hangs up or sends another such request. */
  follow: boolean;
}

/** A place in the log of one agent. */
export interface LogPosition {
  /** Names the numbering: another agent, or another sandbox, begins a new one. */
  origin: string;
  seq: number;
}

/**
 * A line of the answer to `GET /logs`, as JSON. The first is the origin. `ask` stands only in an answer that follows, and the
 * host replies to it with `POST /usage`.
 */
export type LogStreamLine = { origin: string } | { ask: 'usage' } | LogEntry;

/** One entry of the log, numbered from 1. A gap means that the agent dropped the entries between. */
export interface LogEntry {
  seq: number;
  /** Milliseconds since the epoch, by the clock of the sandbox. */
  timestamp: number;
  level: LogLevel;
  /** The part of the agent that reports, such as `process`. */
  logger: string;
  message: string;
  fields: Readonly<Record<string, string>>;
}

/** Writes a request as the query of `GET /logs`, without its `?`. */
export const toLogQuery = ({ after, follow }: LogRequest): string =>
  new URLSearchParams({
    ...(after && { after: `${after.origin}:${after.seq}` }),
    follow: String(follow),
  }).toString();

/** Reads the query of `GET /logs`. A position that is malformed counts as none. */
export const parseLogQuery = (query: string | undefined): LogRequest => {
  const given = new URLSearchParams(query);
  return { after: parsePosition(given.get('after')), follow: given.get('follow') === 'true' };
};

const parsePosition = (text: string | null): LogPosition | undefined => {
  if (text === null) return undefined;
  // An origin may hold a colon.
  const mark = text.lastIndexOf(':');
  const seq = Number(text.slice(mark + 1));
  return mark > 0 && Number.isSafeInteger(seq) && seq > 0 ? { origin: text.slice(0, mark), seq } : undefined;
};
