import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take half a minute and more, the longest of each run first. */
const longFiles = [
  'e2b-client.test.ts',
  'cluster.test.ts',
  'cli.test.ts',
  'run-config.test.ts',
  'runsc.driver.test.ts',
  'memory.driver.test.ts',
  'rootless.test.ts',
  'durability.test.ts',
  'metrics.test.ts',
  'logs.test.ts',
  'pause.driver.test.ts',
  'oci.driver.test.ts',
  'process-attach.test.ts',
  'network-rules.test.ts',
  'transport-limits.test.ts',
  'waking.test.ts',
  'memory-pause.test.ts',

  'notebook-kernel.long.test.ts',
  'repeated-calls.long.test.ts',
  'gvisor-run-config.long.test.ts',
  'page-programs.long.test.ts',
  'hostile-layers.long.test.ts',
  'start-commands.long.test.ts',
  'earlier-clients.long.test.ts',
  'build-contexts.long.test.ts',
  'first-hours.long.test.ts',
  'runsc.driver.long.test.ts',
  'node.driver.long.test.ts',
  'helper.driver.long.test.ts',
  'build-cache.long.test.ts',
  'dockerfile-stages.long.test.ts',
  'impostor.long.test.ts',
  'up-on-a-terminal.long.test.ts',
  'sandbox-commands.long.test.ts',
  'screens.long.test.ts',
  'down-by-force.long.test.ts',
  'packed.long.test.ts',
  'files-limits.long.test.ts',
  'process-stays-up.long.test.ts',
  'process-slow-readers.long.test.ts',
  'memory-kills.driver.long.test.ts',
  'pause-kills.driver.long.test.ts',
];

/**
 * Without times of an earlier run, as in a fresh clone, vitest starts with the largest files of each project in turn; a small file
 * that takes a minute then starts last, and the other workers wait for it.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = longFiles.indexOf(basename(moduleId));
      return index === -1 ? longFiles.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
