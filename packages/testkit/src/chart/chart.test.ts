import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  dumpYaml,
  loadYaml,
  type V1Container,
  type V1DaemonSet,
  type V1Deployment,
  type V1PodSpec,
} from '@kubernetes/client-node';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { mergeValues, renderChart, type Values } from './render-chart.ts';

const folder = join(import.meta.dirname, '../../../../deploy/helm/skerry');
/** The command from its sources: these tests need no build. */
const program = join(import.meta.dirname, '../../../cli/src/main.ts');
const release = { name: 'boxes', namespace: 'sandboxes' };
const least = { database: { existingSecret: 'postgres' }, server: { domain: 'example.com' } };
const most = mergeValues(least, {
  image: { repository: 'registry.example.com/skerry', tag: '1.2.3', pullSecrets: [{ name: 'registry' }] },
  server: {
    keepBusyNodes: true,
    extraArgs: ['--blobs', 's3://bucket?region=r'],
    extraEnv: [{ name: 'A', value: 'b' }],
    service: { type: 'LoadBalancer', annotations: { a: 'b' } },
    podDisruptionBudget: { maxUnavailable: '50%' },
    nodeSelector: { pool: 'servers' },
    tolerations: [{ key: 'a', operator: 'Exists' }],
  },
  node: { isolation: 'gvisor', priorityClassName: 'high', extraArgs: ['--no-memory'], maxUnavailable: '10%' },
  certificates: { certManager: { enabled: true } },
});

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  rules?: { resources: string[]; verbs: string[]; resourceNames?: string[] }[];
}

const render = (values: Values): { manifest: Manifest; text: string }[] =>
  [...renderChart(folder, release, values)]
    .filter(([name]) => name.endsWith('.yaml'))
    .flatMap(([, text]) => parseAllDocuments(text))
    .map((document) => ({ manifest: document.toJS() as Manifest, text: document.toString() }))
    .filter(({ manifest }) => manifest !== null);

const find = (values: Values, kind: string, name: string): Manifest => {
  const found = render(values).find(
    ({ manifest }) => manifest.kind === kind && manifest.metadata.name === name,
  );
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found.manifest;
};
const nodeSpec = (values: Values): V1PodSpec =>
  (find(values, 'DaemonSet', 'boxes-node') as unknown as V1DaemonSet).spec?.template.spec as V1PodSpec;
const deployed = (values: Values, name: string): V1PodSpec =>
  (find(values, 'Deployment', name) as unknown as V1Deployment).spec?.template.spec as V1PodSpec;

const schema = JSON.parse(readFileSync(join(folder, 'values.schema.json'), 'utf8')) as object;
const validate = new Ajv({ allErrors: true, strict: false }).compile(schema);
const defaults = parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Values;

describe.each([
  ['least', least],
  ['most', most],
])('the chart with the %s values', (_, values) => {
  it('has values that its schema takes', () => {
    expect(validate(mergeValues(defaults, values)) ? [] : validate.errors).toEqual([]);
  });

  it('makes manifests whose every field the classes of the client know', () => {
    const manifests = render(values).filter(
      ({ manifest }) => !manifest.apiVersion.startsWith('cert-manager'),
    );
    expect(manifests.length).toBeGreaterThan(14);
    for (const { manifest, text } of manifests) expect(parse(dumpYaml(loadYaml(text)))).toEqual(manifest);
  });

  it('selects the pods that it makes', () => {
    const service = find(values, 'Service', 'boxes') as unknown as { spec: { selector: object } };
    for (const { manifest } of render(values)) {
      const { spec } = manifest as unknown as V1DaemonSet;
      if (!['DaemonSet', 'Deployment'].includes(manifest.kind)) continue;
      expect(spec?.template.metadata?.labels).toMatchObject(spec?.selector.matchLabels ?? {});
    }
    const server = find(values, 'Deployment', 'boxes-server') as unknown as V1Deployment;
    expect(server.spec?.template.metadata?.labels).toMatchObject(service.spec.selector);
  });

  it('mounts what it declares, and declares what it mounts', () => {
    const specs = [nodeSpec(values), deployed(values, 'boxes-server'), deployed(values, 'boxes-authority')];
    for (const { containers, initContainers = [], volumes = [] } of specs) {
      const mounted = [...containers, ...initContainers].flatMap(({ volumeMounts = [] }) => volumeMounts);
      expect(new Set(mounted.map(({ name }) => name))).toEqual(new Set(volumes.map(({ name }) => name)));
    }
  });

  it('starts programs with options that they have', async () => {
    const containers = [
      ...(nodeSpec(values).initContainers ?? []),
      ...nodeSpec(values).containers,
      ...deployed(values, 'boxes-server').containers,
      ...deployed(values, 'boxes-authority').containers,
    ];
    expect(containers).toHaveLength(4);
    for (const { args = [] } of containers) {
      const command = args.slice(
        0,
        args.findIndex((one) => one.startsWith('--')),
      );
      const { stdout } = await promisify(execFile)(process.execPath, [program, ...command, '--help']);
      const known = new Set(stdout.match(/--[a-z][a-z-]*/g));
      expect(args.filter((one) => one.startsWith('--') && !known.has(one))).toEqual([]);
    }
  });
});

describe('the pods of servers', () => {
  const { containers, terminationGracePeriodSeconds: graceSeconds = 0 } = deployed(least, 'boxes-server');
  const [server] = containers as [V1Container];

  it('are probed for readiness and for life apart', () => {
    expect(server.readinessProbe?.httpGet).toEqual({ path: '/readyz', port: 'api' });
    expect(server.livenessProbe?.httpGet).toEqual({ path: '/livez', port: 'api' });
  });

  it('have the time to drain before they are killed', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'server', '--help']);
    const drainSeconds = Number(/--drain-timeout[^(]*\(default: (\d+)s\)/.exec(stdout)?.[1]);
    const pauseSeconds = Number(server.lifecycle?.preStop?.exec?.command?.at(-1));
    expect(graceSeconds).toBeGreaterThanOrEqual(pauseSeconds + drainSeconds + 15);
  });
});

describe('the pods of nodes', () => {
  const [node] = nodeSpec(least).containers as [V1Container];

  it('leave sandboxes outside of what ends with them', () => {
    expect(nodeSpec(least)).toMatchObject({ hostPID: true, hostNetwork: true });
    const paths = Object.fromEntries(
      node.volumeMounts?.map(({ mountPath, mountPropagation }) => [mountPath, mountPropagation]) ?? [],
    );
    expect(paths).toMatchObject({ '/var/lib/skerry': 'Bidirectional', '/sys/fs/cgroup': undefined });
    // Mounts of the data folder are at the same paths in all pods, which the records of sandboxes have.
    for (const { hostPath, name } of nodeSpec(least).volumes ?? []) {
      const mount = node.volumeMounts?.find((one) => one.name === name);
      if (mount && name !== 'certificate') expect(hostPath?.path).toBe(mount.mountPath);
    }
  });

  it('have no account of the cluster beside the request for their certificate', () => {
    expect(nodeSpec(least).automountServiceAccountToken).toBe(false);
    expect(node.volumeMounts?.map(({ name }) => name)).not.toContain('token');
    expect(nodeSpec(most).initContainers?.[0]?.volumeMounts?.map(({ name }) => name)).toContain('token');
  });

  it('are privileged, and no other container is', () => {
    const specs = [nodeSpec(most), deployed(most, 'boxes-server'), deployed(most, 'boxes-authority')];
    const all = specs.flatMap(({ containers, initContainers = [] }) => [...containers, ...initContainers]);
    expect(all.filter(({ securityContext }) => securityContext?.privileged).map(({ name }) => name)).toEqual([
      'node',
    ]);
    for (const { name, securityContext } of all.filter((one) => one.name !== 'node'))
      expect([name, securityContext?.capabilities?.drop]).toEqual([name, ['ALL']]);
  });
});

describe('the rights of the chart', () => {
  const rulesOf = (values: Values): string[] =>
    render(values).flatMap(({ manifest: { kind, metadata, rules = [] } }) =>
      rules.map(
        ({ resources, verbs, resourceNames }) =>
          `${kind} ${metadata.name}: ${verbs.join(',')} ${resources.join(',')}${resourceNames ? ` ${resourceNames.join(',')}` : ''}`,
      ),
    );
  const rules = [
    'ClusterRole sandboxes-boxes-node: create,get certificatesigningrequests',
    'Role boxes-server: list,watch pods',
    'ClusterRole sandboxes-boxes-server: list,watch nodes',
    'Role boxes-authority: get secrets boxes-authority,boxes-platform,boxes-server',
    'Role boxes-authority: create secrets',
    'Role boxes-authority: update secrets boxes-platform',
    'Role boxes-authority: get pods',
    'ClusterRole sandboxes-boxes-authority: list certificatesigningrequests',
    'ClusterRole sandboxes-boxes-authority: update certificatesigningrequests/approval,certificatesigningrequests/status',
    'ClusterRole sandboxes-boxes-authority: approve,sign signers skerry.io/sandboxes.boxes',
  ];

  it('are these, and the change of nodes only where busy ones are kept', () => {
    expect(rulesOf(least)).toEqual(rules);
    expect(rulesOf(most).filter((one) => !rules.includes(one))).toEqual([
      'ClusterRole sandboxes-boxes-server: patch nodes',
    ]);
  });
});

describe('the schema of the values', () => {
  const errorsOf = (values: Values): string[] => {
    validate(mergeValues(defaults, values));
    return validate.errors?.map(({ instancePath }) => instancePath) ?? [];
  };

  it('refuses values without database and domain', () => {
    expect(errorsOf({})).toEqual(['/database/existingSecret', '/server/domain']);
  });

  it.each([
    ['/server', { server: { replica: 2 } }],
    ['/server/replicas', { server: { replicas: 0 } }],
    ['/node/isolation', { node: { isolation: 'none' } }],
    ['/node/dataPath', { node: { dataPath: 'var/lib' } }],
    ['/server/nodeDeadAfter', { server: { nodeDeadAfter: 60 } }],
    ['/certificates/days', { certificates: { days: 0 } }],
  ])('refuses a wrong value at %s', (path, values) => {
    expect(errorsOf(mergeValues(least, values))).toContain(path);
  });

  it('knows exactly the values of values.yaml, and the README lists each', () => {
    const leaves = (values: Values, path = ''): string[] =>
      Object.entries(values).flatMap(([key, value]) =>
        isGroup(value) ? leaves(value, `${path}${key}.`) : [`${path}${key}`],
      );
    // The labels of a selector, and what a container requests, are one value.
    const isGroup = (value: unknown): value is Values =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      !Object.keys(value).some((key) => key === 'requests' || key.includes('/')) &&
      Object.keys(value).length > 0;
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    const listed = [...readme.matchAll(/^\| `([A-Za-z.]+)` /gm)].map(([, name]) => name);
    expect(new Set(listed)).toEqual(new Set(leaves(defaults)));
  });
});
