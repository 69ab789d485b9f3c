import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { prepareAgentFolder } from '../../../agent-folder/agent-folder.ts';
import { type ProbeResult, probe } from '../../../probe.ts';
import { keepProof, type ProofFile, toProof } from '../criu/kept-proof.ts';
import { describeCriu, prepareCriu } from '../criu/prepare-criu.ts';
import { proveMemory } from '../criu/prove-memory.ts';
import { prepareRunsc } from '../gvisor/prepare-runsc.ts';
import { createOci, type OciOptions } from '../oci.ts';

interface ProbeFolders {
  dir: string;
  /** The bundle of the real agent: the probe agent does not start commands in the same way. */
  agentBundle: string;
  /** The folder of a server's programs: the proof is kept there as the server keeps its own. */
  programsDir: string | undefined;
  signal: AbortSignal | undefined;
}

/** Pauses a real sandbox with its memory, resumes it, starts a program in it and in a copy, and removes both. */
export const probeMemory = (
  options: ProbeFolders & { criuDir: string | undefined; criuProgram: string | undefined },
): Promise<ProbeResult> => {
  const mend =
    'let apt-get reach http://deb.debian.org, or name a CRIU of 4.2 or newer with --criu PATH; use Linux 5.19 or newer';
  return probe({ name: 'memory', needed: false, mend }, async () => {
    const { dir, programsDir, criuProgram, signal } = options;
    // A server that is started without the option has no use for a proof of another CRIU.
    const keptDir = criuProgram === undefined ? programsDir : undefined;
    const criuDir =
      options.criuDir ?? (await prepareCriu({ targetDir: keptDir ?? dir, program: criuProgram, signal }));
    const proofFile =
      keptDir === undefined
        ? undefined
        : { program: `${criuDir}/criu`, proofPath: join(keptDir, 'criu-proof.json') };
    const found = await tryMemory('memory', options, { driver: { criuDir }, proofFile });
    return `${found}; ${await describeCriu(criuDir)}`;
  });
};

/** Probes at level `gvisor` what `probeMemory` probes at level `container`. */
export const probeGvisorMemory = (
  options: ProbeFolders & { runscPath: string | undefined },
): Promise<ProbeResult> =>
  probe({ name: 'gvisor memory', needed: false, mend: 'see gvisor' }, async () => {
    const { dir, programsDir, signal } = options;
    const runscPath = options.runscPath ?? (await prepareRunsc({ targetDir: programsDir ?? dir, signal }));
    const proofFile =
      programsDir === undefined
        ? undefined
        : { program: runscPath, proofPath: join(programsDir, 'gvisor-proof.json') };
    return tryMemory('gvisor-memory', options, { driver: { runscPath, keepsMemory: true }, proofFile });
  });

const tryMemory = async (
  name: string,
  { dir, agentBundle }: ProbeFolders,
  { driver, proofFile }: { driver: Partial<OciOptions>; proofFile: ProofFile | undefined },
): Promise<string> => {
  const [dataDir, rootfs] = [join(dir, `data-${name}`), join(dir, `rootfs-${name}`)];
  await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  await mkdir(rootfs);
  const agentDir = await prepareAgentFolder({
    targetDir: join(dir, 'agent'),
    nodePath: process.execPath,
    bundleDir: agentBundle,
  });
  const runtime = createOci({ dataDir, agentDir, ...driver });
  try {
    const { pauseMs, resumeMs } = await proveMemory(runtime, { rootfs });
    if (proofFile)
      await keepProof(proofFile.proofPath, { ...(await toProof(proofFile.program)), on: runtime.name });
    return `a sandbox is paused with its memory in ${pauseMs} ms and resumes in ${resumeMs} ms`;
  } finally {
    await runtime.close();
  }
};
