import type { NodeRoom } from '@skerry/runtime/node';

/** What a process with many nodes is started with. */
export interface NodeHostSettings {
  /** Has the folders of the nodes. */
  folder: string;
  /** The address of its machine. */
  host: string;
  nodes: readonly { name: string; port: number }[];
  /** The folder of the certificates. */
  certificates: string;
  room: NodeRoom;
}
