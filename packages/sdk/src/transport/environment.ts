/**
 * A setting from the environment: `SKERRY_{name}`, else `E2B_{name}`, which programs for other services of this
 * protocol may have set. An empty value counts as unset, and so does a platform without an environment, such as a
 * browser.
 */
export function readSetting(name: 'API_KEY' | 'API_URL' | 'DOMAIN' | 'SANDBOX_URL'): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[`SKERRY_${name}`] || process?.env?.[`E2B_${name}`] || undefined;
}
