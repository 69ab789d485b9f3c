/** Headings under which the help of commands that serve lists their options. */
export const OPTION_GROUPS = {
  network: 'Network:',
  tls: 'TLS:',
  sandboxes: 'Sandboxes:',
  builds: 'Builds:',
  storage: 'Storage:',
  nodes: 'Nodes:',
  observability: 'Logs and metrics:',
} as const;
