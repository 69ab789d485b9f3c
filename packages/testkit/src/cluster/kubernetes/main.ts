// The chart on a cluster: pnpm test:kubernetes --kubeconfig FILE --image REPOSITORY:TAG --database-url URL [--namespace NAME] [--keep]
// The cluster needs two machines with the label skerry.io/node=true, of which nothing else uses /var/lib/skerry, and the database is reached from its pods.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { AppsV1Api, CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { mergeValues, type Values } from '../../chart/render-chart.ts';
import { runChecks } from './checks.ts';
import { forwardToServer } from './forward.ts';
import { install, release } from './installation.ts';

const { values: flags } = parseArgs({
  options: {
    kubeconfig: { type: 'string' },
    image: { type: 'string' },
    'database-url': { type: 'string' },
    namespace: { type: 'string', default: 'skerry-test' },
    values: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
const { kubeconfig, image, 'database-url': databaseUrl, namespace } = flags;
const [, repository, tag] = image?.match(/^(.+):([^:/]+)$/) ?? [];
if (!kubeconfig || !image || !repository || !tag || !databaseUrl)
  throw new Error('--kubeconfig FILE, --image REPOSITORY:TAG and --database-url URL are needed');

const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(CoreV1Api);
const apps = config.makeApiClient(AppsV1Api);
const { items } = await core.listNode({ labelSelector: 'skerry.io/node=true' });
const machines = items.flatMap(({ metadata }) => metadata?.name ?? []);
if (machines.length < 2) throw new Error('two machines need the label skerry.io/node=true');

const given = flags.values === undefined ? {} : (parse(readFileSync(flags.values, 'utf8')) as Values);
const base = { image: { repository, tag }, server: { domain: 'sandboxes.test' } };
const installation = await install({
  ...{ config, apps, namespace, databaseUrl },
  values: mergeValues(base, given),
});
let isRight = false;
try {
  await installation.ready(600_000);
  const secret = await core.readNamespacedSecret({ name: `${release}-server`, namespace });
  const apiKey = Buffer.from(secret.data?.['api-key'] ?? '', 'base64').toString();
  isRight = await runChecks({
    ...{ core, apps, namespace, machines, image, apiKey, installation },
    forward: (exceptOn) => forwardToServer({ config, core, namespace, exceptOn }),
  });
} finally {
  if (!flags.keep) await installation.remove();
}
process.exit(isRight ? 0 : 1);
