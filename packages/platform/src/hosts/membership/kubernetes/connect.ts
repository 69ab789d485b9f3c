import type { KubeConfig } from '@kubernetes/client-node';
import { MembershipError } from '../membership.ts';

type Client = typeof import('@kubernetes/client-node');

/**
 * Loads the client of Kubernetes, and the current context of a kubeconfig or, without one, the service
 * account of this pod. Connects to nothing. Rejects with `MembershipError` when the package of the client is
 * not installed, and when the configuration is invalid.
 */
export const connectKubernetes = async (
  kubeconfig: string | undefined,
): Promise<{ client: Client; config: KubeConfig }> => {
  const client = await loadClient();
  return { client, config: configure(new client.KubeConfig(), kubeconfig) };
};

const loadClient = async (): Promise<Client> => {
  try {
    return await import('@kubernetes/client-node');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new MembershipError(
      'Kubernetes needs the package @kubernetes/client-node beside skerry: run "npm install --global @kubernetes/client-node@2"',
      { cause: error },
    );
  }
};

const configure = (config: KubeConfig, file: string | undefined): KubeConfig => {
  if (file === undefined) {
    if (process.env.KUBERNETES_SERVICE_HOST === undefined)
      throw new MembershipError(
        'this process is in no pod of Kubernetes: name a file of its configuration by --kubeconfig',
      );
    config.loadFromCluster();
    return config;
  }
  try {
    config.loadFromFile(file);
  } catch (error) {
    throw new MembershipError(`${file} is no configuration of Kubernetes: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (config.getCurrentCluster() === null)
    throw new MembershipError(`${file} names no current context with a cluster`);
  return config;
};
