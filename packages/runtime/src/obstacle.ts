import { RuntimeError } from './error.ts';

/** Something inside a sandbox that cannot be kept in memory, by the words that follow the process. */
const descriptions = {
  agent_connection: 'a connection to the agent stays open',
  changed_path: 'has a file open that its path does not lead to any more',
  corked_socket: 'has a corked UDP socket',
  kernel_watch: 'watches a file in /proc or /sys',
  linked_file: 'has a deleted file open that has other hard links, and whose folder is a file or a link now',
  long_deleted_name:
    'has a deleted file open that has other hard links, and whose name has more than 245 bytes',
  long_path: 'uses a file or folder whose path has more than 4,095 bytes',
  message_queue: 'has a POSIX message queue open',
  netlink_reply: 'has not read a reply of a netlink socket',
  packet_pipe: 'has a pipe in packet mode (O_DIRECT)',
  path_only: 'has a socket, named pipe or watch open as a path only (O_PATH)',
  pending_connection: 'has not accepted a connection over a unix socket that its client has closed',
  program_in_memory: 'runs a program that is a file in memory (memfd_create)',
  removed_file: 'uses a file, folder or program that was removed',
  removed_folder: 'uses a folder of the image that was removed',
  secret_memory: 'has secret memory (memfd_secret)',
  session: 'is in a session of which no process above it is a member (PR_SET_CHILD_SUBREAPER)',
  socket_file: 'has a unix socket that is bound to a file',
  socket_path:
    'has a unix socket whose path cannot be restored: its file has several hard links, or was bound by a relative path over ".." or a link, or by one that has changed',
  too_many_files: 'more than 65,536 files are open',
  traced_process: 'is traced, as by a debugger',
  /** The log of the host says more. */
  unknown: 'something in the sandbox cannot be kept',
  unread_message:
    'has not read a message of a unix socket that carries credentials or a time (SO_PASSCRED, SO_TIMESTAMP)',
  unrest: 'processes stop or end again and again',
  urgent_data: 'has not read all of a TCP connection up to its urgent data (MSG_OOB)',
} as const satisfies Record<string, string>;

export type ObstacleKind = keyof typeof descriptions;

export const obstacleKinds = Object.keys(descriptions) as ObstacleKind[];

/** A process of a sandbox as the sandbox itself sees it. */
export interface ObservedProcess {
  pid: number;
  /** The name that the process has given itself, as printable characters. */
  command: string;
}

/** Why the memory of a sandbox cannot be kept. Everything in it is known inside the sandbox as well. */
export interface Obstacle {
  kind: ObstacleKind;
  /** The process that holds it; undefined where it is not that of one process. */
  process?: ObservedProcess | undefined;
}

/** Kinds that end by themselves, within seconds. */
const passing: readonly ObstacleKind[] = ['agent_connection', 'unrest'];

/** Whether the same call may succeed a moment later although no program inside changes what it does. */
export const isPassing = ({ kind }: Obstacle): boolean => passing.includes(kind);

/** Returns a clause for callers of the API, as in `process 12 (python3) is traced, as by a debugger`. */
export const describeObstacle = ({ kind, process }: Obstacle): string => {
  const description = descriptions[kind];
  if (process !== undefined) return `process ${process.pid} (${process.command}) ${description}`;
  return withoutProcess.includes(kind) ? description : `a process ${description}`;
};

const withoutProcess: readonly ObstacleKind[] = ['agent_connection', 'too_many_files', 'unknown', 'unrest'];

/** The memory of a sandbox cannot be kept now. The sandbox runs on. */
export class ObstacleError extends RuntimeError {
  readonly obstacle: Obstacle;

  constructor(obstacle: Obstacle, options?: { cause?: unknown }) {
    super('blocked', describeObstacle(obstacle), options);
    this.name = 'ObstacleError';
    this.obstacle = obstacle;
  }
}
