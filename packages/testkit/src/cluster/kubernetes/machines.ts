import { type CoreV1Api, PatchStrategy, setHeaderOptions, type V1Pod } from '@kubernetes/client-node';
import { until } from './until.ts';

/** Does what `kubectl cordon` and `uncordon` do. */
export const setUnschedulable = async (
  core: CoreV1Api,
  name: string,
  unschedulable: boolean,
): Promise<void> => {
  const merged = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  await core.patchNode({ name, body: { spec: { unschedulable } } }, merged);
};

/** The condition Ready of a machine, which needs its kubelet. */
export const isMachineReady = async (core: CoreV1Api, name: string): Promise<boolean> => {
  const { status } = await core.readNode({ name });
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
};

/** Stops the kubelet of a machine for a while, and lets it go on. On a machine with several, theirs is the one with its name. */
const script = `
for p in $(ls /proc | grep -E '^[0-9]+$'); do
  [ "$(cat /proc/$p/comm 2>/dev/null)" = kubelet ] || continue
  line=$(tr '\\0' ' ' < /proc/$p/cmdline)
  case "$line" in *--hostname-override=*) case "$line" in *--hostname-override=$MACHINE\\ *) ;; *) continue ;; esac ;; esac
  kill -STOP $p; sleep $SECONDS_LONG; kill -CONT $p; exit 0
done
exit 1
`;

/** Stops the kubelet of a machine for that time, by a privileged pod there. Resolves when it is stopped. */
export const stopKubelet = async (
  core: CoreV1Api,
  {
    namespace,
    machine,
    image,
    seconds,
  }: { namespace: string; machine: string; image: string; seconds: number },
): Promise<void> => {
  const pod: V1Pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'stop-kubelet', namespace } },
    spec: {
      nodeName: machine,
      hostPID: true,
      restartPolicy: 'Never',
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: 'stop',
          image,
          command: ['bash', '-c', script],
          env: [
            { name: 'MACHINE', value: machine },
            { name: 'SECONDS_LONG', value: String(seconds) },
          ],
          securityContext: { privileged: true },
        },
      ],
    },
  };
  await core.createNamespacedPod({ namespace, body: pod });
  await until(
    `the kubelet of ${machine} is stopped`,
    120_000,
    async () => !(await isMachineReady(core, machine)),
  );
};
