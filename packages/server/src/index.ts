export type { AcmeOptions } from './acme/acme-options.ts';
// What the commands that start a server pass to it. Types alone: its programs are exports of their own, so that no command loads all.
export type { BuildOptions } from './serving/build-options.ts';
export type { HostOptions } from './serving/host.ts';
export type { ServingOptions } from './serving/serve.ts';
export type { TlsOptions } from './serving/tls/tls-options.ts';
export type { WarmCounts } from './serving/warm-counts.ts';
