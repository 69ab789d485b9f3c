import { readFileSync } from 'node:fs';
import type { PostgresServer } from '@skerry/platform/postgres-server';

/** What is counted since the start of each program. */
export interface Counters {
  atMs: number;
  database: { statements: number; transactions: number; walBytes: number };
  /** The time of processors that each group of processes has used. */
  cpuMs: Record<string, number>;
  /** Bytes through the networks of the servers, in both directions. */
  networkBytes: number;
}

export interface CountedPrograms {
  postgres: PostgresServer;
  servers: readonly number[];
  nodeHosts: readonly number[];
}

const TICK_MS = 10;

export const readCounters = async ({ postgres, servers, nodeHosts }: CountedPrograms): Promise<Counters> => {
  const [line = ''] = await postgres.query(`
    select (select sum(calls) from pg_stat_statements),
      (select sum(xact_commit + xact_rollback) from pg_stat_database),
      pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')`);
  const [statements = 0, transactions = 0, walBytes = 0] = line.split('|').map(Number);
  return {
    atMs: performance.now(),
    database: { statements, transactions, walBytes },
    cpuMs: {
      servers: sum(servers.map(readCpuMs)),
      database: sum([postgres.pid, ...readChildren(postgres.pid)].map(readCpuMs)),
      nodes: sum(nodeHosts.map(readCpuMs)),
    },
    networkBytes: sum(servers.map(readNetworkBytes)),
  };
};

/** Resident memory of a process. */
export const readMemoryBytes = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

/** The time of a process, with that of its children that have ended and were waited for. */
const readCpuMs = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return sum(fields.slice(11, 15).map(Number)) * TICK_MS;
  } catch {
    return 0; // The process has just ended, and its parent counts it.
  }
};

const readChildren = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);

/** All interfaces of its network but loopback. */
const readNetworkBytes = (pid: number): number =>
  readFileSync(`/proc/${pid}/net/dev`, 'utf8')
    .split('\n')
    .map((line) => /^\s*eth\d+:\s*(.*)$/.exec(line)?.[1]?.split(/\s+/).map(Number) ?? [])
    .reduce((total, [received = 0, , , , , , , , sent = 0]) => total + received + sent, 0);
