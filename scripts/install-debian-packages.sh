#!/bin/sh
# install-debian-packages.sh PACKAGE...   (as root)
#
# Installs Debian packages without starting their services, now or at the next boot, and without a
# PostgreSQL cluster of the system's: the tests start servers of their own, on free ports, and nobody
# asked for one more on the default port. Debian's way to forbid the start is a policy-rc.d that
# exits 101. One that is already there is put aside and put back: on success, on failure and on a
# signal. (A shell acts on a signal when its command has ended, so dpkg is not torn down half way;
# and it goes on to the end even when whoever called it is gone.)
set -eu

# After a plain `su` root has the path of the user, without the folders dpkg needs; and a locale that
# is set but not installed makes everything complain.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C.UTF-8
export DEBIAN_FRONTEND=noninteractive

policy=/usr/sbin/policy-rc.d
saved=/usr/sbin/policy-rc.d.saved-by-tenure
mark='# tenure: temporary, no service may start'
cluster_folder=/etc/postgresql-common/createcluster.d
cluster_setting=$cluster_folder/tenure-temporary.conf

# The services of these packages have their names, but for two.
service_of() {
  case "$1" in
    etcd-server) echo etcd ;;
    mariadb-server) echo mariadb ;;
    *) echo "$1" ;;
  esac
}

has_service() {
  for folder in /lib/systemd/system /usr/lib/systemd/system /etc/systemd/system; do
    if [ -e "$folder/$1.service" ]; then return 0; fi
  done
  [ -e "/etc/init.d/$1" ]
}

disable_service() {
  if command -v systemctl >/dev/null; then
    systemctl --quiet disable "$1.service" >/dev/null 2>&1
  elif command -v update-rc.d >/dev/null; then
    update-rc.d "$1" disable >/dev/null 2>&1
  fi
}

restore() {
  if [ -f "$policy" ] && grep -qxF "$mark" "$policy"; then rm -f "$policy"; fi
  if [ -e "$saved" ] || [ -L "$saved" ]; then mv -f "$saved" "$policy"; fi
  rm -f "$cluster_setting"
}

new=
finish() {
  for service in $new; do
    if has_service "$service" && ! disable_service "$service"; then
      echo "the service $service could not be disabled; it starts at the next boot" >&2
    fi
  done
  restore
  for folder in $new_folders; do rmdir "$folder" 2>/dev/null || true; done
}

restore # what an earlier run that was killed outright may have left
new_folders=
for folder in "$cluster_folder" "${cluster_folder%/*}"; do
  if [ ! -d "$folder" ]; then new_folders="$new_folders $folder"; fi
done
# A service that was there before is somebody's, and stays as it is.
for package in "$@"; do
  service=$(service_of "$package")
  if ! has_service "$service"; then new="$new $service"; fi
done
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -e "$policy" ] || [ -L "$policy" ]; then mv "$policy" "$saved"; fi
printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
chmod 755 "$policy"
mkdir -p "$cluster_folder"
echo 'create_main_cluster = false' >"$cluster_setting"

# One broken source among several, which may not be Debian's, says little: whether the packages can
# be had is for the installation to find out.
if ! apt-get -q -y -o Acquire::Retries=3 update; then
  echo 'not every package list could be brought up to date; trying with those that are there' >&2
fi
apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@"
