import { Command } from 'commander';
import { printLine } from '../../output/print.ts';
import { parseDuration } from '../parse-duration.ts';

interface RequestFlags {
  dir: string;
  signer: string;
  kubeconfig?: string;
  timeout: number;
}

/** `skerry node request`: what a pod of a node does before the node. */
export function requestCommand(): Command {
  return new Command('request')
    .description(
      'in a pod of Kubernetes: have "skerry node authority" sign a certificate of this node, which a valid one makes unnecessary',
    )
    .requiredOption('--dir <dir>', 'folder for node.crt, node.key and ca.crt, which outlives the pod')
    .option('--signer <name>', 'that of "skerry node authority"', 'skerry.io/node')
    .option('--kubeconfig <file>', 'how to reach Kubernetes (default: with the service account of this pod)')
    .option('--timeout <time>', 'how long the authority may take', parseDuration, 120)
    .action(async ({ dir, signer, kubeconfig, timeout }: RequestFlags) => {
      const { requestCertificate } = await import('@skerry/server/request-certificate');
      const outcome = await requestCertificate({ dir, signer, kubeconfig, timeoutMs: timeout * 1_000 });
      printLine(outcome === 'kept' ? 'the certificate is valid' : 'a new certificate was signed');
    });
}
