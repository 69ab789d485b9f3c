#!/bin/sh
# Makes a tree of packages a guest: prepare.sh ROOT FOLDER, where FOLDER holds the agent's files.
set -eu
root=$1 files=$2
install -m 644 "$files/agent.py" "$root/usr/local/lib/lab-agent.py"
install -m 644 "$files/agent.service" "$root/etc/systemd/system/lab-agent.service"
mkdir -p "$root/opt/skerry" "$root/etc/systemd/network" "$root/var/log/journal"
printf 'LABEL=root / ext4 defaults 0 1\nLABEL=skerry /opt/skerry ext4 defaults 0 2\n' >"$root/etc/fstab"
printf '[Match]\nName=en* eth*\n[Network]\nDHCP=ipv4\n' >"$root/etc/systemd/network/uplink.network"
rm -f "$root/etc/resolv.conf"
echo 'nameserver 10.0.2.3' >"$root/etc/resolv.conf"
echo lab >"$root/etc/hostname"
printf '127.0.0.1 localhost lab\n::1 localhost\n' >"$root/etc/hosts"
chroot "$root" useradd --create-home --shell /bin/bash lab
chroot "$root" passwd --delete root
ln -s /opt/skerry/bin/skerry /opt/skerry/bin/node "$root/usr/local/bin/"
for unit in lab-agent systemd-networkd; do systemctl --root="$root" enable "$unit.service"; done
# What only costs time under emulation.
systemctl --root="$root" mask systemd-networkd-wait-online.service serial-getty@ttyS0.service getty@tty1.service \
  apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer man-db.timer
# Without these two the first boot does what the build can do, for half a minute.
systemd-machine-id-setup --root="$root"
touch "$root/etc/.updated" "$root/var/.updated"
