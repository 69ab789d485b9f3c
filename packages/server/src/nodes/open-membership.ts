import {
  type Clock,
  createStaticMembership,
  type ListedNode,
  type Log,
  type Membership,
  MembershipError,
  type Store,
} from '@skerry/platform';
import { UserError } from '../user-error.ts';

/** What says which nodes a server has. */
export type MembershipChoice =
  | { listed: readonly ListedNode[] }
  | {
      kubernetes: { namespace: string; selector: string; kubeconfig?: string | undefined };
      /** Whether machines that have sandboxes are kept from the cluster autoscaler. */
      keepsBusyNodes: boolean;
    };

/**
 * Opens the membership that the operator has chosen; it connects to nothing before its start. Rejects with `UserError` for a name that is listed
 * twice, and where the client of Kubernetes or its configuration is missing.
 */
export async function openMembership(
  choice: MembershipChoice,
  { store, clock, log }: { store: Pick<Store, 'measureNodes'>; clock: Clock; log: Log },
): Promise<Membership> {
  if ('listed' in choice) {
    requireOnce(choice.listed);
    return createStaticMembership(choice.listed);
  }
  // Only here: other servers do not need the client, which is large and may not be installed.
  const { createBusyNodes, createKubernetesMembership, openKubernetes } = await import(
    '@skerry/platform/kubernetes'
  );
  const { resources, annotateNode } = await asUserError(openKubernetes(choice.kubernetes));
  const membership = createKubernetesMembership({ resources, clock, log });
  const busy = choice.keepsBusyNodes
    ? createBusyNodes({
        ...{ clock, log, annotateNode },
        machines: membership.machines,
        measureNodes: () => store.measureNodes(),
      })
    : undefined;
  return {
    ...membership,
    start: (options) => asUserError(membership.start(options)),
    close: async () => {
      await Promise.all([membership.close(), busy?.close()]);
    },
  };
}

const asUserError = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown): never => {
    throw error instanceof MembershipError ? new UserError(error.message, { cause: error }) : error;
  });

function requireOnce(listed: readonly ListedNode[]): void {
  const twice = listed.find(({ name }, index) =>
    listed.some((other, at) => at < index && other.name === name),
  );
  if (twice !== undefined) throw new UserError(`node "${twice.name}" is named twice`);
}
