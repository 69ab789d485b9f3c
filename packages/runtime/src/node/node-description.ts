import type { DescribeNodeResponse } from '../gen/skerry/node/v1/node_pb.ts';

/** What a server has to know of a node, beside the features of its runtime. */
export interface NodeDescription {
  /** The version of skerry. */
  version: string;
  /** The image of the base template: an absolute path on the node. */
  base: { rootfs: string; digest: string };
  /** The folder of the images of templates: an absolute path on the node. */
  templatesFolder: string;
  room: NodeRoom;
  /** The memory of the machine that programs cannot get now. */
  usedMemoryBytes: number;
}

/** What the sandboxes of a node may take together. */
export interface NodeRoom {
  /** The number of sandboxes that may start or run; paused ones do not count. */
  sandboxes: number;
  memoryBytes: number;
  cpuCount: number;
}

/** Writes the answer to `DescribeNode`. */
export const toDescriptionMessage = ({
  version,
  base,
  templatesFolder,
  room,
  usedMemoryBytes,
}: NodeDescription) => ({
  version,
  baseRootfs: base.rootfs,
  baseDigest: base.digest,
  templatesFolder,
  room: { ...room, memoryBytes: BigInt(room.memoryBytes) },
  usedMemoryBytes: BigInt(usedMemoryBytes),
});

/** Reads that answer; what an older node does not send is 0 or empty. */
export const parseDescription = (message: DescribeNodeResponse): NodeDescription => ({
  version: message.version,
  base: { rootfs: message.baseRootfs, digest: message.baseDigest },
  templatesFolder: message.templatesFolder,
  room: {
    sandboxes: message.room?.sandboxes ?? 0,
    memoryBytes: Number(message.room?.memoryBytes ?? 0),
    cpuCount: message.room?.cpuCount ?? 0,
  },
  usedMemoryBytes: Number(message.usedMemoryBytes),
});
