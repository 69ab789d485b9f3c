import { Command } from 'commander';
import { parseDays } from '../parse-days.ts';
import { type ForegroundFlags, runInForeground, withForegroundOptions } from '../serve/foreground.ts';

interface AuthorityFlags extends ForegroundFlags {
  namespace: string;
  serviceAccount: string;
  signer: string;
  kubeconfig?: string;
  authoritySecret: string;
  platformSecret: string;
  serverSecret: string;
  otherIssuer?: boolean;
  days: number;
}

/** `skerry node authority`: signs certificates of nodes in Kubernetes until SIGINT or SIGTERM. */
export function authorityCommand(): Command {
  const command = new Command('authority')
    .description(
      'in Kubernetes: make the secrets of an installation where they are missing, and sign the certificates of its nodes',
    )
    .requiredOption('--namespace <name>', 'the namespace of the installation')
    .option('--service-account <name>', 'that of the pods of nodes, and of no others', 'skerry-node')
    .option('--signer <name>', 'whose requests to answer, which no other installation uses', 'skerry.io/node')
    .option('--kubeconfig <file>', 'how to reach Kubernetes (default: with the service account of this pod)')
    .option(
      '--authority-secret <name>',
      'Secret with tls.crt and tls.key of the authority',
      'skerry-authority',
    )
    .option('--platform-secret <name>', 'Secret with the certificate of the servers', 'skerry-platform')
    .option(
      '--server-secret <name>',
      'Secret with what all servers share: secret and api-key',
      'skerry-server',
    )
    .option('--other-issuer', 'another program makes the first two Secrets, such as cert-manager')
    .option('--days <count>', 'how long certificates are valid', parseDays, 365);
  return withForegroundOptions(command).action(async (flags: AuthorityFlags) => {
    await runInForeground(flags, async ({ log }) => {
      const { startAuthority } = await import('@skerry/server/kubernetes-authority');
      const { namespace, serviceAccount, signer, kubeconfig, days, otherIssuer = false } = flags;
      const running = await startAuthority({
        pods: { namespace, serviceAccount },
        names: {
          authority: flags.authoritySecret,
          platform: flags.platformSecret,
          server: flags.serverSecret,
        },
        ...{ signer, kubeconfig, days, log, usesOthers: otherIssuer },
      });
      return {
        ...running,
        ready: { json: { namespace }, text: `signs certificates of nodes in namespace "${namespace}"\n` },
      };
    });
  });
}
