/**
 * Whether a domain is this machine or an IP address. Names below it then cannot be resolved reliably (the C libraries
 * of most systems do not resolve `*.localhost`, and an IP address has no subdomains), and there is no TLS by default.
 */
export function isLocalDomain(domain: string): boolean {
  const { hostname } = new URL(`http://${domain}`);
  return (
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname.startsWith('[') ||
    /^\d+\.\d+\.\d+\.\d+$/.test(hostname)
  );
}
