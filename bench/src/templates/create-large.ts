import type { Benchmark } from '../harness/benchmark.ts';
import { samplePairs } from '../harness/sample-pairs.ts';
import { toRow } from '../report/row.ts';
import { timeCreate } from '../sandboxes/create-samples.ts';
import { makeLayers } from './make-layers.ts';
import { packBusybox, startTemplateService } from './template-service.ts';

const LARGE_BYTES = 4 * 2 ** 30;
const SMALL_BYTES = 100 * 2 ** 20;

/** `create.cold` from a template of 4 GB; the reference is the same from one of 100 MB. */
export const templateCreateLarge: Benchmark = async ({ name, runs, scale, resources }) => {
  const { folder, registry, build, create } = await startTemplateService(resources);
  const busybox = await packBusybox(folder, ['sh', 'echo']);
  const buildOf = async (template: string, sizeBytes: number): Promise<void> => {
    const layers = await makeLayers({ folder, sizeBytes, compression: 'none' });
    const image = { paths: [busybox, ...layers], compression: 'none', env: ['PATH=/bin'] } as const;
    await registry.pushLayers(`bench/${template}`, image);
    await build(template, { fromImage: `${registry.host}/bench/${template}` });
  };
  await buildOf('small', SMALL_BYTES * scale);
  await buildOf('large', LARGE_BYTES * scale);
  const timeFrom = async (template: string): Promise<number> => {
    const { sandbox, elapsedMs } = await timeCreate({ createSandbox: () => create(template) });
    await sandbox.kill();
    return elapsedMs;
  };
  const { samples, compared } = await samplePairs({
    warmUpRuns: 3,
    runs,
    measure: () => timeFrom('large'),
    beside: () => timeFrom('small'),
  });
  return [
    toRow({
      ...{ name, unit: 'ms', samples },
      reference: { name: 'from 100 MB', samples: compared },
      bound: [
        { of: 'ratio', atMost: 1.1 },
        { of: 'ratio', atLeast: 0.9 },
      ],
    }),
  ];
};
