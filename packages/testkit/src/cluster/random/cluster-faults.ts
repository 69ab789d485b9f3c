import type { PostgresServer } from '@skerry/platform/postgres-server';
import type { Cluster, Replica } from '../cluster.ts';
import type { Service } from '../service.ts';

/** Begins it, and resolves with a function that ends it. */
type Fault = () => Promise<() => Promise<unknown>>;

export interface FaultTargets {
  cluster: Cluster;
  nodes: readonly string[];
  postgres: PostgresServer;
  /** The machine of PostgreSQL. */
  databaseMachine: string;
  random: () => number;
  /** Called with the servers that clients are to use from now on. */
  serve: (replicas: readonly Replica[]) => void;
}

/** Faults by what they are done to, in the order in which they begin and end: two at a time are of different groups. */
export type ClusterFaults = Readonly<Record<string, Readonly<Record<string, Fault>>>>;

/** All that may happen to a cluster for a while. */
export const createClusterFaults = (targets: FaultTargets): ClusterFaults => {
  const { cluster, nodes, postgres, databaseMachine, random, serve } = targets;
  const { lab, replicas } = cluster;
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

  const freeze = async (service: Service): Promise<() => Promise<void>> => {
    service.signal('SIGSTOP');
    return async () => service.signal('SIGCONT');
  };
  const cut = async (machine: string): Promise<() => Promise<void>> => {
    await lab.cut(machine);
    return () => lab.mend(machine);
  };
  const endServer =
    (signal: NodeJS.Signals): Fault =>
    async () => {
      const replica = pick(replicas);
      serve(replicas.filter((one) => one !== replica));
      await replica.service().stop(signal);
      return async () => {
        await replica.start();
        serve(replicas);
      };
    };
  const endNode =
    (signal: NodeJS.Signals): Fault =>
    async () => {
      const name = pick(nodes);
      await cluster.node(name).stop(signal);
      return () => cluster.startNode(name);
    };

  return {
    database: {
      'kill PostgreSQL': async () => {
        await postgres.stop();
        return () => postgres.start();
      },
      'freeze PostgreSQL': async () => {
        const thaw = postgres.freeze();
        return async () => thaw();
      },
      'cut PostgreSQL off': () => cut(databaseMachine),
    },
    node: {
      'kill a node': endNode('SIGKILL'),
      'stop a node': endNode('SIGTERM'),
      'freeze a node': () => freeze(cluster.node(pick(nodes))),
      'cut a node off': () => cut(pick(nodes)),
    },
    server: {
      'kill a server': endServer('SIGKILL'),
      'stop a server': endServer('SIGTERM'),
      'freeze a server': () => freeze(pick(replicas).service()),
      'cut a server off': () => cut(pick(replicas).machine),
    },
  };
};
