/** Where one sandbox keeps what it is made of. Everything lies in one folder, so that removing it is complete. */
export interface SandboxFolder {
  readonly path: string;
  /** Who it belongs to; written before anything else is made. */
  readonly record: string;
  /** The sparse file behind its file system, and where that is mounted. */
  readonly image: string;
  readonly disk: string;
  /** The agent's sockets and log: `/run/envd` inside. On the sandbox's disk, so that it cannot fill the host's. */
  readonly guest: string;
  readonly livenessPipe: string;
  /** Where the root is mounted, and a mount point used while doing so. */
  readonly root: string;
  readonly lower: string;
  /** State, log and pid file of the OCI runtime. */
  readonly ociState: string;
  readonly ociLog: string;
  readonly pidFile: string;
  readonly config: string;
  /** What the kernel's boot id is inside: the id of the run. */
  readonly bootId: string;
  /** The processes of a sandbox that was paused with its memory, and the liveness pipe of the process that writes them. */
  readonly memory: string;
  readonly dumpPipe: string;
  /** Which of its sockets let others have their port: while their memory is written the kernel does not say. */
  readonly reusing: string;
}

/** What of a sandbox's folder is left while it is paused, by name. */
export const keptNames: readonly string[] = ['record.json', 'disk.ext4'];

export const toSandboxesDir = (dataDir: string): string => `${dataDir}/sandboxes`;

/** Where one snapshot keeps what it is made of. */
export interface SnapshotFolder {
  readonly path: string;
  /** Written before anything else is made; only one that says `sealed` is a snapshot. */
  readonly record: string;
  /** The copy of the sandbox's disk. */
  readonly image: string;
  /** What is in it: one entry a line. */
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
