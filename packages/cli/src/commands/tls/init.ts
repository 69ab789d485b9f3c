import { Command } from 'commander';
import { printJson, printLines } from '../../output/print.ts';
import { parseDays } from '../parse-days.ts';
import { toTrustHelp } from './trust-help.ts';

interface InitFlags {
  dir: string;
  domain: string;
  days: number;
  renew?: boolean;
  json?: boolean;
}

/** `skerry tls init`: makes an authority where there is none, and a certificate of it for `skerry up --tls-cert`. */
export function initTlsCommand(): Command {
  return new Command('init')
    .description('make a local authority and a certificate for a domain, and say how to trust it')
    .option('--domain <domain>', 'for this name and those one level below', 'localhost')
    .option(
      '--dir <dir>',
      'folder for the files; the authority is taken from it when it is there',
      'skerry-tls',
    )
    .option(
      '--days <count>',
      'how long the certificate is valid; the authority is for ten years',
      parseDays,
      397,
    )
    .option('--renew', 'replace the certificate that is there; the authority stays')
    .option('--json', 'one JSON object')
    .action(async ({ dir, domain, days, renew = false, json }: InitFlags) => {
      // The library is loaded by this command alone.
      const { initTls } = await import('@skerry/server/certificates');
      const files = await initTls({ dir, domain, days, renew });
      if (json) printJson(files);
      else printLines(toTrustHelp(files));
    });
}
