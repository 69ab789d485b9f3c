import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createOci } from '../drivers/oci/oci.ts';
import { proveMemory } from '../drivers/oci/prove-memory.ts';
import { prepareCriu } from '../prepare-criu.ts';
import { type ProbeResult, probe } from './probe.ts';

/** Pauses a real sandbox with its memory, wakes it and removes it. */
export const probeMemory = (options: {
  dir: string;
  agentDir: string;
  criuDir: string | undefined;
}): Promise<ProbeResult> => {
  const { dir, agentDir } = options;
  const mend = 'let apt-get reach http://deb.debian.org; use Linux 5.19 or newer';
  return probe({ name: 'memory', needed: false, mend }, async () => {
    const criuDir = options.criuDir ?? (await prepareCriu({ targetDir: dir }));
    const [dataDir, rootfs] = [join(dir, 'data-memory'), join(dir, 'rootfs-memory')];
    await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
    await mkdir(rootfs);
    const runtime = createOci({ dataDir, agentDir, criuDir });
    try {
      const { pauseMs, resumeMs } = await proveMemory(runtime, { rootfs });
      return `a sandbox is paused with its memory in ${pauseMs} ms and wakes in ${resumeMs} ms`;
    } finally {
      await runtime.close();
    }
  });
};
