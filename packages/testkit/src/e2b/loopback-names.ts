import dns from 'node:dns';

/**
 * Makes this process resolve a domain and all names below it to 127.0.0.1, as a wildcard record in the DNS of an operator does
 * for all programs. The returned function ends that.
 */
export function resolveToLoopback(domain: string): () => void {
  const system = dns.lookup;
  const lookup = (name: string, ...rest: unknown[]): unknown =>
    Reflect.apply(system, dns, [
      name === domain || name.endsWith(`.${domain}`) ? '127.0.0.1' : name,
      ...rest,
    ]);
  dns.lookup = lookup as typeof dns.lookup;
  return () => {
    dns.lookup = system;
  };
}
