import { Command } from 'commander';
import { printJson, printLine } from '../../output/print.ts';
import { parseDays } from '../parse-days.ts';

interface CertFlags {
  dir: string;
  days: number;
  renew?: boolean;
  json?: boolean;
}

/** `skerry node cert NAME…`: makes an authority where there is none, and certificates for the platform and for nodes. */
export function certCommand(): Command {
  return new Command('cert')
    .description(
      'make the certificates of the platform and of nodes, and first the authority that signs them',
    )
    .argument('[node...]', 'names of the nodes, or "platform"')
    .option(
      '--dir <dir>',
      'folder for the files; the authority is taken from it when it is there',
      'skerry-certificates',
    )
    .option(
      '--days <count>',
      'how long certificates are valid; the authority is for ten years',
      parseDays,
      365,
    )
    .option('--renew', 'replace certificates that are there; those of the authority stay')
    .option('--json', 'one JSON object a line')
    .action(async (names: string[], { dir, days, renew = false, json }: CertFlags) => {
      // The library is loaded by this command alone.
      const { writeCertificates } = await import('@skerry/server/certificates');
      for (const made of await writeCertificates({ dir, names, days, renew })) {
        const { cert, expiresAt } = made;
        if (json) printJson(made);
        else printLine(`${cert}, valid until ${expiresAt.toISOString().slice(0, 10)}`);
      }
    });
}
