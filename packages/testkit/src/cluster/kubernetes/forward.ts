import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type CoreV1Api, type KubeConfig, PortForward } from '@kubernetes/client-node';
import { release } from './installation.ts';

/** A port of this machine that leads to a server of the installation, by the API server. */
export interface Forward {
  port: number;
  close(): void;
}

/** Forwards to port 4000 of a Ready server that is not on one of these machines. */
export const forwardToServer = async ({
  config,
  core,
  namespace,
  exceptOn = [],
}: {
  config: KubeConfig;
  core: CoreV1Api;
  namespace: string;
  exceptOn?: readonly string[] | undefined;
}): Promise<Forward> => {
  const labelSelector = `app.kubernetes.io/instance=${release},app.kubernetes.io/component=server`;
  const { items } = await core.listNamespacedPod({ namespace, labelSelector });
  const pod = items.find(
    ({ spec, status }) =>
      !exceptOn.includes(spec?.nodeName ?? '') &&
      status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  );
  const name = pod?.metadata?.name;
  if (name === undefined) throw new Error('no server is ready');
  const forward = new PortForward(config);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    forward.portForward(namespace, name, [4_000], socket, null, socket).then(
      (connection) => {
        if (typeof connection !== 'function') socket.once('close', () => connection.close());
      },
      () => socket.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
};
