#!/bin/sh
# install-debian-packages.sh PACKAGE...   (as root)
#
# Installs Debian packages without starting their services: the tests start servers of their own, on
# free ports, and nobody asked for one more on the default port. Debian's way to forbid the start is
# a policy-rc.d that exits 101. One that is already there is put aside and put back: on success, on
# failure and on a signal. (A shell acts on a signal when its command has ended, so dpkg is not torn
# down half way; and it goes on to the end even when whoever called it is gone.)
set -eu

policy=/usr/sbin/policy-rc.d
saved=/usr/sbin/policy-rc.d.saved-by-tenure
mark='# tenure: temporary, no service may start'

restore() {
  if [ -f "$policy" ] && grep -qxF "$mark" "$policy"; then rm -f "$policy"; fi
  if [ -e "$saved" ] || [ -L "$saved" ]; then mv -f "$saved" "$policy"; fi
}

restore # what an earlier run that was killed outright may have left
trap restore EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -e "$policy" ] || [ -L "$policy" ]; then mv "$policy" "$saved"; fi
printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
chmod 755 "$policy"

export DEBIAN_FRONTEND=noninteractive
apt-get -q -y -o Acquire::Retries=3 update
apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
