import type { BlobStoreChoice } from '@skerry/server/nodes-server';
import { UserError } from '@skerry/server/user-error';
import { Command, Option } from 'commander';
import { parseBlobStore } from './parse-blob-store.ts';
import { parseTotalCount } from './parse-count.ts';
import { parseDuration } from './parse-duration.ts';
import { parseKubernetes } from './parse-kubernetes.ts';
import { parseAddress, parseNode } from './parse-node.ts';
import { type BuildFlags, toBuildOptions, withBuildOptions } from './serve/build-options.ts';
import {
  type CredentialFlags,
  toCredentialFiles,
  withCredentialOptions,
} from './serve/credential-options.ts';
import { type ForegroundFlags, runInForeground, withForegroundOptions } from './serve/foreground.ts';
import { type MetricsFlag, withMetricsOption } from './serve/metrics-option.ts';
import { OPTION_GROUPS } from './serve/option-groups.ts';
import {
  type ServingFlags,
  toServingOptions,
  withDataOption,
  withServingOptions,
} from './serve/serving-options.ts';
import { toWarmCounts, type WarmFlags, withWarmOptions } from './serve/warm-options.ts';

interface ServerFlags
  extends ServingFlags,
    BuildFlags,
    CredentialFlags,
    ForegroundFlags,
    WarmFlags,
    MetricsFlag {
  data: string;
  node: ReturnType<typeof parseNode>[];
  nodes?: string;
  kubernetes?: ReturnType<typeof parseKubernetes>;
  kubeconfig?: string;
  keepBusyNodes?: boolean;
  nodeDeadAfter: number;
  blobs?: BlobStoreChoice;
  peerListen?: ReturnType<typeof parseAddress>;
}

/** `skerry server`: serves in the foreground until SIGINT or SIGTERM; sandboxes on the nodes keep running. */
export function serverCommand(): Command {
  const command = new Command('server')
    .summary('start the service for sandboxes on nodes')
    .description(
      'start the service without sandboxes of its own: they are on nodes, each of which runs "skerry node"',
    );
  withBuildOptions(withServingOptions(withDataOption(command), { parseSandboxes: parseTotalCount }))
    .optionsGroup(OPTION_GROUPS.nodes)
    .option(
      '--node <name=host:port>',
      'a node, by the name in its certificate; may be repeated',
      (text: string, nodes: ReturnType<typeof parseNode>[]) => [...nodes, parseNode(text)],
      [] as ReturnType<typeof parseNode>[],
    )
    .option('--nodes <file>', 'file with such a node on each line; lines that begin with # are comments')
    .addOption(
      new Option(
        '--kubernetes <namespace[/labels]>',
        'the nodes whose pods are Ready in that namespace of Kubernetes, as they come and go, instead of a list',
      )
        .argParser(parseKubernetes)
        .conflicts(['node', 'nodes']),
    )
    .option(
      '--kubeconfig <file>',
      'how to reach Kubernetes (default: with the service account of the pod of this server)',
    )
    .option(
      '--keep-busy-nodes',
      'annotate nodes of Kubernetes that have sandboxes, so that the cluster autoscaler does not remove them',
    )
    .option(
      '--node-dead-after <time>',
      'a node that does not answer for so long is held for dead, and what runs on it is lost',
      parseDuration,
      60,
    )
    .optionsGroup(OPTION_GROUPS.storage)
    .option(
      '--blobs <store>',
      'keep paused sandboxes, snapshots and templates in a blob store too, so that other nodes can have them: an absolute path, or s3://BUCKET?region=REGION&endpoint=URL with the credentials of the AWS variables; several servers need the same one',
      parseBlobStore,
    )
    .optionsGroup(OPTION_GROUPS.nodes)
    .option(
      '--peer-listen <host:port>',
      'share the nodes with other servers of the database, which reach this one at that address',
      parseAddress,
    );
  withWarmOptions(command, ' on each node');
  return withForegroundOptions(withMetricsOption(withCredentialOptions(command))).action(
    async (flags: ServerFlags) => {
      await runInForeground(flags, async (foreground) => {
        const { readNodesFile, startNodesServer } = await import('@skerry/server/nodes-server');
        const { kubernetes, kubeconfig, keepBusyNodes = false } = flags;
        if (kubernetes === undefined && (kubeconfig !== undefined || keepBusyNodes))
          throw new UserError('--kubeconfig and --keep-busy-nodes are for --kubernetes');
        const listed = [...flags.node, ...(flags.nodes === undefined ? [] : readNodesFile(flags.nodes))];
        if (listed.length === 0 && kubernetes === undefined)
          throw new UserError('a server needs a node: name one by --node or --nodes, or use --kubernetes');
        const server = await startNodesServer({
          ...(await toServingOptions(flags)),
          ...toBuildOptions(flags),
          ...foreground,
          dataDir: flags.data,
          files: toCredentialFiles(flags),
          membership: kubernetes
            ? { kubernetes: { ...kubernetes, kubeconfig }, keepsBusyNodes: keepBusyNodes }
            : { listed },
          deadMs: flags.nodeDeadAfter * 1_000,
          blobStore: flags.blobs,
          peerListen: flags.peerListen,
          warm: toWarmCounts(flags),
          metricsListen: flags.metricsListen,
        });
        const { address } = server;
        return { ...server, ready: { json: address, text: toText(address) } };
      });
    },
  );
}

const toText = ({ apiUrl, apiKey, domain }: { apiUrl: string; apiKey: string; domain: string }): string =>
  `skerry is ready

  API        ${apiUrl}
  key        ${apiKey}
  sandboxes  ${new URL(apiUrl).protocol}//{port}-{id}.${domain}

"skerry node ls" shows the nodes. Ctrl-C stops serving; sandboxes on the nodes run on.
`;
