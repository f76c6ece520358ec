# guest.sh: what the tests' commands in the guest are written with.  The tests send it to the
# guest's shell once after each boot; it knows the kernel's paths and nothing of any test.

# until_true SECONDS COMMAND...: wait for an event that nothing announces; 1 if it never comes.
until_true() {
	limit=$(($(cut -d. -f1 /proc/uptime) + $1))
	shift
	until "$@"; do
		[ "$(cut -d. -f1 /proc/uptime)" -lt $limit ] || { echo "never true: $*"; return 1; }
		usleep 20000
	done
}

controller_is() { # STATE [CONTROLLER]
	[ "$(cat "/sys/class/nvme/${2:-nvme0}/state")" = "$1" ]
}

# path CONTROLLER [N]: the folder of the first, or nth, namespace's path over this controller.
path() {
	echo /sys/class/nvme/"$1"/nvme*c*n"${2:-1}"
}

ana_state_is() { # CONTROLLER STATE
	[ "$(cat "$(path "$1")/ana_state")" = "$2" ]
}

is_idle() { # CONTROLLER [N]: nothing of that namespace is under way over it
	read -r reading writing <"$(path "$1" "${2:-1}")/inflight" && [ $((reading + writing)) = 0 ]
}

# is_waiting PID: a process that reads or writes a device itself cannot go on.
is_waiting() {
	grep -q '^State:.D' "/proc/$1/status"
}

in_flight() { # DEVICE COUNT: so many writes at least are under way
	read -r reading writing <"/sys/block/$1/inflight" && [ "$writing" -ge "$2" ]
}

tried() { # DEVICE: how many writes have ended, well or not
	awk '{ print $5 }' "/sys/block/$1/stat"
}

has_tried() { # DEVICE COUNT
	[ "$(tried "$1")" -ge "$2" ]
}

requests() { # CONTROLLER [N]: how many of that namespace were done over it
	awk '{ print $1 + $5 }' "$(path "$1" "${2:-1}")/stat"
}

has_done() { # CONTROLLER COUNT [N]
	[ "$(requests "$1" "${3:-1}")" -ge "$2" ]
}

# goes_over CONTROLLER OTHER: requests are done over one controller, and none over the other.
goes_over() {
	until_true 30 is_idle "$2" || return
	still=$(requests "$2")
	until_true 30 has_done "$1" $(($(requests "$1") + 8)) || return
	[ "$(requests "$2")" = "$still" ] || { echo "not only over $1"; return 1; }
}

# connect ADDRESS PORT NQN [OPTION...]: connect as nvme0 and wait for its first namespace, which
# the kernel looks for after nvme connect has returned.
connect() {
	connect_path "$@" || return
	until_true 30 test -b /dev/nvme0n1
}

# connect_path ADDRESS PORT NQN [OPTION...]: the same host again, at another port; it waits for nothing.
connect_path() {
	address=$1 port=$2 nqn=$3
	shift 3
	nvme connect -t tcp -a "$address" -s "$port" -n "$nqn" \
		--hostnqn="$HOSTNQN:a" --hostid="$HOSTID-00000000000a" \
		--reconnect-delay=1 --ctrl-loss-tmo=60 "$@"
}

# connect_all ADDRESS PORT: the same host, to all that a discovery controller names.
connect_all() {
	nvme connect-all -t tcp -a "$1" -s "$2" --hostnqn="$HOSTNQN:a" --hostid="$HOSTID-00000000000a" \
		--reconnect-delay=1 --ctrl-loss-tmo=60
}

# loopback_is WHOSE: 127.0.0.1 is "host", the machine that the guest runs on, or the guest's "own".
loopback_is() {
	if [ "$1" = host ]; then
		ip addr del 127.0.0.1/8 dev lo && echo 1 >/proc/sys/net/ipv4/conf/eth0/route_localnet &&
			ip route add 127.0.0.1 via 10.0.2.2
	else
		ip route del 127.0.0.1 && ip addr add 127.0.0.1/8 dev lo
	fi
}

# connect_as LETTER ADDRESS PORT NQN: as another host.  nvme connect takes a second host for a
# mistake and refuses it, so the kernel is told directly.
connect_as() {
	# shellcheck disable=SC3037 # busybox's, which says why it fails
	echo -n "transport=tcp,traddr=$2,trsvcid=$3,nqn=$4,reconnect_delay=1,ctrl_loss_tmo=60,\
hostnqn=$HOSTNQN:$1,hostid=$HOSTID-00000000000$1" >/dev/nvme-fabrics
}

# reload_nvme [PARAMETER=VALUE...]: the kernel's host anew, its core with these parameters.  No
# controller may be there.
reload_nvme() {
	rmmod nvme_tcp nvme_fabrics nvme_core &&
		insmod /modules/nvme-core.ko "$@" && insmod /modules/nvme-fabrics.ko && insmod /modules/nvme-tcp.ko
}

# load_target: the kernel's own target, to be configured in /sys/kernel/config/nvmet.
load_target() {
	while read -r module; do
		insmod "/modules/$module" 2>/dev/null || true # it may be there already
	done </modules/target
	mount -t configfs none /sys/kernel/config 2>/dev/null || true
	[ -d /sys/kernel/config/nvmet/subsystems ]
}

is_gone() { # FILE
	[ ! -e "$1" ]
}

# listens_for_events PROCESS: whether uevent has opened its socket.
listens_for_events() {
	[ "$(awk -v pid="$1" '$2 == 15 && $3 == pid' /proc/net/netlink)" ]
}

no_controller_is_left() {
	[ -z "$(ls /sys/class/nvme)" ]
}

disconnect_all() {
	umount /mnt 2>/dev/null
	nvme disconnect-all
	until_true 30 no_controller_is_left
}

# MiB that the host has written to namespace 1 over its first path.  (The multipath device above
# the path has no statistics of its own in this kernel.)
written_mib() {
	awk '{ print int($7 / 2048) }' /sys/class/nvme/nvme0/nvme0*n1/stat
}

has_written() { # MIB
	[ "$(written_mib)" -ge "$1" ]
}

# verified_fio FILE SIZE [OPTION...]: write blocks of many lengths in random order, then read all of them
# and hold them against the checksums that lie in them.  The volume must be fresh: what an
# earlier job left at the same place has a right checksum too, and would hide a write that was
# not done.  A pipe between fio's own processes that breaks does not end it: what counts is what it says
# of the data.
verified_fio() {
	file=$1 size=$2
	shift 2
	(trap '' PIPE; exec fio --name=verified --filename="$file" --size="$size" --rw=randwrite --bsrange=4k-64k "$@" \
		--ioengine=libaio --iodepth=16 --direct=1 --end_fsync=1 \
		--verify=crc32c --do_verify=1 --verify_fatal=1 --verify_state_save=0 \
		--output-format=json)
}

# verified_until FILE MARK: verified jobs one after the other, each on 2 MiB that none was on
# before, until the file MARK is there.
verified_until() {
	pass=0
	until [ -e "$2" ]; do
		verified_fio "$1" 2m --offset=$((pass * 2))m >/tmp/pass 2>&1 || { cat /tmp/pass; return 1; }
		pass=$((pass + 1))
	done
	echo "$pass passes"
}

HOSTNQN=nqn.2014-08.org.nvmexpress:uuid:5ca1ab1e-0000-4000-8000-000000000000
HOSTID=5ca1ab1e-0000-4000-8000
