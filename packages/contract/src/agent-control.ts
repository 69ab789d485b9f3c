/**
 * The private channel: HTTP/1.1 over a socket that only the host and the root of the sandbox can open. The agent still
 * checks what arrives, and the platform trusts nothing that the agent sends: these types describe what each side
 * sends.
 */
export const controlPaths = {
  init: '/init',
  usage: '/usage',
  logs: '/logs',
  selfTest: '/self-test',
  unpack: '/unpack',
  pack: '/pack',
  endAll: '/end-all',
  standIn: '/stand-in',
  putBack: '/put-back',
} as const;

/** Paths of the host's POST requests. The agent answers 204 when it has applied the whole body. */
export interface ControlBodies {
  '/init': AgentInit;
  '/usage': SandboxUsage;
}

/** The state that the agent of a sandbox needs before it answers any other request. */
export interface AgentInit {
  sandboxId: string;
  templateId: string;
  /** Replaces the variables that the agent had. */
  envVars: Record<string, string>;
  /**
   * The access token of the sandbox as `hashToken` writes it: the memory of a copy has what that of its source had, so the
   * token itself never gets in. Without it the agent answers every caller.
   */
  accessTokenSha256?: string;
  /** What the edge shows the agent with each request that it has checked, 256 bits. New for each run. */
  edgeNonce: string;
  /** The limits of the sandbox, for the variables of its processes: control groups are masked inside. */
  cpuCount?: number;
  /** MiB. */
  memoryMb?: number;
  /** RFC 3339. The agent ignores an initialization that is older than the last one. */
  timestamp: string;
  defaultUser: string;
  /** Absolute. The default is the home of the default user. */
  defaultWorkdir?: string;
}

/** What a sandbox uses, and its limits. Only the host can measure this: control groups are masked inside. */
export interface SandboxUsage {
  /** Milliseconds since the epoch. */
  timestampMs: number;
  cpuCount: number;
  /** 0 to 100: the share of all processors of the sandbox. */
  cpuUsedPct: number;
  memoryTotalBytes: number;
  memoryUsedBytes: number;
  memoryCacheBytes: number;
  diskTotalBytes: number;
  diskUsedBytes: number;
  /** The processes that the kernel has killed at the memory limit. Absent where the host does not count them. */
  oomKills?: number;
}

/** From the least to the most serious. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** A query of `GET /logs`. */
export interface LogRequest {
  /** The last entry that the host has. A position with another origin means that the host has no entry. */
  after: LogPosition | undefined;
  /** Keeps the response open for later entries, until the host disconnects or sends another such request. */
  follow: boolean;
}

/** A position in the log of one agent. */
export interface LogPosition {
  /** Identifies the numbering: another agent, or another sandbox, begins a new one. */
  origin: string;
  seq: number;
}

/**
 * A line of the response to `GET /logs`, as JSON. The first is the origin. `ask` appears only in a response that
 * follows, and the host replies to it with `POST /usage`.
 */
export type LogStreamLine = { origin: string } | { ask: 'usage' } | LogEntry;

/** One entry of the log, numbered from 1. A gap means that the agent dropped the entries between. */
export interface LogEntry {
  seq: number;
  /** Milliseconds since the epoch, by the clock of the sandbox. */
  timestamp: number;
  level: LogLevel;
  /** The part of the agent that writes the entry, such as `process`. */
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

/** Reads the query of `GET /logs`. A malformed position is ignored. */
export const parseLogQuery = (query: string | undefined): LogRequest => {
  const given = new URLSearchParams(query);
  return { after: parsePosition(given.get('after')), follow: given.get('follow') === 'true' };
};

/**
 * A query of `POST /unpack`, whose body is a tar archive, plain or gzip. The agent answers 204 when all of it is written,
 * and an error with the name of the entry otherwise; what was written until then stays.
 */
export interface UnpackRequest {
  /**
   * The path in the archive from which names count, relative and without `.` and `..`; empty for its top. An entry that is
   * neither there nor below, nor a folder above, is refused.
   */
  source: string;
  /** Absolute path of the folder for what is below `source`, or of the file for an entry that is at `source`. */
  destination: string;
  /** Whether an entry at `source` keeps its name, in the folder `destination`. It does also when that is a folder already. */
  intoFolder: boolean;
  /** A user and optionally a group after a colon, each a name or a number. */
  owner: string;
  /** The mode of all files and folders: octal, or symbolic as chmod(1) reads it, a change of that in the archive. */
  mode: string | undefined;
  /** Whether entries have the owners and the extended attributes of the archive. `owner` is then for folders that it lacks. */
  keepsOwners: boolean;
  /**
   * Whether folders below the destination that exist get the owner and the mode of the entry, and a new destination those of any
   * folder that is missing.
   */
  overwritesFolders: boolean;
}

/** Writes a request as the query of `POST /unpack`, without its `?`. */
export const toUnpackQuery = ({ mode, ...request }: UnpackRequest): string =>
  new URLSearchParams({
    source: request.source,
    destination: request.destination,
    intoFolder: String(request.intoFolder),
    owner: request.owner,
    keepsOwners: String(request.keepsOwners),
    overwritesFolders: String(request.overwritesFolders),
    ...(mode !== undefined && { mode }),
  }).toString();

/** Reads the query of `POST /unpack`. Whether its values can be used is for the agent to find out. */
export const parseUnpackQuery = (query: string | undefined): UnpackRequest => {
  const given = new URLSearchParams(query);
  return {
    source: given.get('source') ?? '',
    destination: given.get('destination') ?? '',
    intoFolder: given.get('intoFolder') === 'true',
    owner: given.get('owner') ?? '',
    mode: given.get('mode') ?? undefined,
    keepsOwners: given.get('keepsOwners') === 'true',
    overwritesFolders: given.get('overwritesFolders') === 'true',
  };
};

/**
 * `GET /pack` responds with files of the sandbox as a plain tar archive, for `POST /unpack` of another. Its query has the path or
 * pattern of the files; this is the part of the response's headers that the request to unpack needs.
 */
export interface PackedArchive {
  /** `source` of the `UnpackRequest`. */
  source: string;
  /** Whether the destination must be a folder. */
  isSeveral: boolean;
}

const PACKED_HEADER = 'x-skerry-packed';

/** A query of `GET /pack`. */
export interface PackRequest {
  /** A path or a pattern. */
  source: string;
  /** Whether names count from the folder at that path, and not from the root. */
  inside: boolean;
}

/** Writes the query of `GET /pack`, without its `?`. */
export const toPackQuery = ({ source, inside }: PackRequest): string =>
  new URLSearchParams({ source, inside: String(inside) }).toString();

/** Reads the query of `GET /pack`. */
export const parsePackQuery = (query: string | undefined): PackRequest => {
  const given = new URLSearchParams(query);
  return { source: given.get('source') ?? '', inside: given.get('inside') === 'true' };
};

/** Writes the headers of the response to `GET /pack`. */
export const toPackHeaders = ({ source, isSeveral }: PackedArchive): Record<string, string> => ({
  [PACKED_HEADER]: new URLSearchParams({ source, isSeveral: String(isSeveral) }).toString(),
});

/** Reads the headers of the response to `GET /pack`. */
export const parsePackHeaders = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
): PackedArchive => {
  const given = new URLSearchParams(String(headers[PACKED_HEADER] ?? ''));
  return { source: given.get('source') ?? '', isSeveral: given.get('isSeveral') === 'true' };
};

/**
 * `POST /end-all` kills every process of the sandbox but the agent when the process of that pid, which the agent has started, has ended.
 * The answer follows then.
 */
export const toEndQuery = (pid: number): string => new URLSearchParams({ pid: String(pid) }).toString();

/** Reads the query of `POST /end-all`; 0 for what is no number. */
export const parseEndQuery = (query: string | undefined): number => {
  const pid = Number(new URLSearchParams(query).get('pid'));
  return Number.isSafeInteger(pid) && pid > 0 ? pid : 0;
};

/**
 * A query of `POST /stand-in`, which sets aside what is at a path and makes missing folders on the way to it. `POST /put-back` with that
 * `target` removes what is there then and undoes both.
 */
export interface StandInRequest {
  /** Absolute. */
  target: string;
  /** The empty folder that is at the path then; undefined for nothing. */
  folder: { mode: number; uid: number; gid: number } | undefined;
}

/** Writes the query of `POST /stand-in`, without its `?`. */
export const toStandInQuery = ({ target, folder }: StandInRequest): string =>
  new URLSearchParams({
    target,
    ...(folder && { mode: `${folder.mode}`, uid: `${folder.uid}`, gid: `${folder.gid}` }),
  }).toString();

/** Reads the query of `POST /stand-in` and of `POST /put-back`. */
export const parseStandInQuery = (query: string | undefined): StandInRequest => {
  const given = new URLSearchParams(query);
  const target = given.get('target') ?? '';
  if (!given.has('mode')) return { target, folder: undefined };
  const [mode = 0, uid = 0, gid = 0] = ['mode', 'uid', 'gid'].map((name) => Number(given.get(name)));
  return { target, folder: { mode, uid, gid } };
};

const parsePosition = (text: string | null): LogPosition | undefined => {
  if (text === null) return undefined;
  // An origin may contain a colon.
  const mark = text.lastIndexOf(':');
  const seq = Number(text.slice(mark + 1));
  return mark > 0 && Number.isSafeInteger(seq) && seq > 0 ? { origin: text.slice(0, mark), seq } : undefined;
};
