/** The paths of one sandbox. Everything is in one folder, so that removing it is complete. */
export interface SandboxFolder {
  readonly path: string;
  /** Names the owner; written before anything else is made. */
  readonly record: string;
  /** The sparse file of its file system, and where that is mounted. */
  readonly image: string;
  readonly disk: string;
  /** The agent's sockets and log: `/run/envd` inside. On the sandbox's disk, so that it cannot fill the host's. */
  readonly guest: string;
  readonly livenessPipe: string;
  /** Where the root is mounted, and a mount point used meanwhile. */
  readonly root: string;
  readonly lower: string;
  /** State, log and pid file of the OCI runtime. */
  readonly ociState: string;
  readonly ociLog: string;
  readonly pidFile: string;
  readonly config: string;
  /** The kernel's boot id as seen inside: the id of the run. */
  readonly bootId: string;
  /**
   * The processes of a sandbox that was paused with its memory, and the liveness pipe of the process that dumps them.
   */
  readonly memory: string;
  readonly dumpPipe: string;
  /**
   * The file that lists the sockets with SO_REUSEADDR or SO_REUSEPORT set: the kernel does not report it
   * while their memory is dumped.
   */
  readonly reusing: string;
}

/** The parts of a sandbox's folder that remain while it is paused, by name. */
export const keptNames: readonly string[] = ['record.json', 'disk.ext4'];

export const toSandboxesDir = (dataDir: string): string => `${dataDir}/sandboxes`;

/** The paths of one snapshot. */
export interface SnapshotFolder {
  readonly path: string;
  /** Written before anything else is made; only a record that says `sealed` is a snapshot. */
  readonly record: string;
  /** The copy of the sandbox's disk. */
  readonly image: string;
  /** The list of the snapshot's entries, one a line. */
  readonly manifest: string;
  /** The processes, where they were captured too. */
  readonly memory: string;
}

export const toSnapshotsDir = (dataDir: string): string => `${dataDir}/snapshots`;

export const toSnapshotFolder = (dataDir: string, id: string): SnapshotFolder => {
  const path = `${toSnapshotsDir(dataDir)}/${id}`;
  return {
    path,
    record: `${path}/record.json`,
    image: `${path}/disk.ext4`,
    manifest: `${path}/manifest.jsonl`,
    memory: `${path}/memory`,
  };
};

export const toSandboxFolder = (dataDir: string, id: string): SandboxFolder => {
  const path = `${toSandboxesDir(dataDir)}/${id}`;
  const disk = `${path}/disk`;
  return {
    path,
    record: `${path}/record.json`,
    image: `${path}/disk.ext4`,
    disk,
    guest: `${disk}/run`,
    livenessPipe: `${disk}/life`,
    root: `${path}/root`,
    lower: `${path}/lower`,
    ociState: `${path}/oci`,
    ociLog: `${path}/oci.log`,
    pidFile: `${path}/pid`,
    config: `${path}/config.json`,
    bootId: `${path}/boot_id`,
    memory: `${path}/memory`,
    dumpPipe: `${path}/dump`,
    reusing: `${path}/reusing`,
  };
};
