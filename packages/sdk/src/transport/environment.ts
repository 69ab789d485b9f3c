/**
 * A setting from the environment: `SKERRY_{name}`, else `E2B_{name}`, which programs written for other services of this
 * protocol have set already. Empty counts as unset, and so does a place without an environment, such as a browser.
 */
export function readSetting(name: 'API_KEY' | 'API_URL' | 'DOMAIN' | 'SANDBOX_URL'): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[`SKERRY_${name}`] || process?.env?.[`E2B_${name}`] || undefined;
}
