import type { Sandbox } from '@skerry/sdk';

/** What packages do when they are set up, by their names. Each has a program of its name, which is `cat`. */
const setUps = {
  // Packages of servers do so whose manuals lie elsewhere.
  'test-manuals': `update-alternatives --install /usr/bin/test-tool test-tool /usr/bin/test-manuals 10 \\
  --slave /usr/share/man/man1/test-tool.1.gz test-tool.1.gz /etc/hostname
update-alternatives --install /usr/share/man/man7/TEST.7.gz TEST.7.gz /etc/hosts 10`,
  'test-raw': setCapability('cap_net_raw', 'test-raw'),
  'test-bind': setCapability('cap_net_bind_service', 'test-bind'),
};

/** What packages of Debian do, such as iputils-ping. */
function setCapability(capability: string, name: string): string {
  return `if setcap ${capability}+ep /usr/bin/${name}; then chmod u-s /usr/bin/${name}
else chmod u+s /usr/bin/${name}; fi`;
}

const makePackage = ([name, setUp]: [string, string]): string => `mkdir -p ${name}/DEBIAN ${name}/usr/bin
cp /bin/cat ${name}/usr/bin/${name}
echo 'Package: ${name}
Version: 1
Architecture: all
Maintainer: none
Description: sets up what packages of Debian do' > ${name}/DEBIAN/control
cat > ${name}/DEBIAN/postinst <<'END'
#!/bin/sh
set -e
${setUp}
END
chmod 755 ${name}/DEBIAN/postinst
dpkg-deb --build ${name} > /dev/null`;

/** How a program of a package runs as the user `user`. */
export interface InstalledProgram {
  mode: string;
  /** A set of capabilities in effect, in hexadecimal digits. */
  effective: string | undefined;
}

/** Makes packages in a sandbox of the template `base` and installs them with apt. Returns what is there then. */
export async function installPackages(
  sandbox: Sandbox,
): Promise<{ manuals: string[]; raw: InstalledProgram; bind: InstalledProgram }> {
  const script = [
    'set -e; mkdir /tmp/packages; cd /tmp/packages',
    ...Object.entries(setUps).map(makePackage),
  ];
  script.push('apt-get install -y ./*.deb');
  await sandbox.commands.run(script.join('\n'), { user: 'root' });
  const run = async (command: string): Promise<string> => (await sandbox.commands.run(command)).stdout.trim();
  const look = async (name: string): Promise<InstalledProgram> => ({
    mode: await run(`stat -c %a /usr/bin/${name}`),
    effective: /^CapEff:\s*0*(\w+)/m.exec(await run(`${name} /proc/self/status`))?.[1],
  });
  return {
    manuals: (await run('cd /usr/share/man; readlink -f man1/test-tool.1.gz man7/TEST.7.gz')).split('\n'),
    raw: await look('test-raw'),
    bind: await look('test-bind'),
  };
}
