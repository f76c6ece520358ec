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

controller_is() { # STATE
	[ "$(cat /sys/class/nvme/nvme0/state)" = "$1" ]
}

# connect ADDRESS PORT NQN [OPTION...]: connect as nvme0 and wait for its first namespace, which
# the kernel looks for after nvme connect has returned.
connect() {
	address=$1 port=$2 nqn=$3
	shift 3
	nvme connect -t tcp -a "$address" -s "$port" -n "$nqn" \
		--hostnqn="$HOSTNQN:a" --hostid="$HOSTID-00000000000a" \
		--reconnect-delay=1 --ctrl-loss-tmo=60 "$@" || return
	until_true 30 test -b /dev/nvme0n1
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

# verified_fio FILE SIZE: write blocks of many lengths in random order, then read all of them
# and hold them against the checksums that lie in them.  The volume must be fresh: what an
# earlier job left at the same place has a right checksum too, and would hide a write that was
# not done.
verified_fio() {
	fio --name=verified --filename="$1" --size="$2" --rw=randwrite --bsrange=4k-64k \
		--ioengine=libaio --iodepth=16 --direct=1 --end_fsync=1 \
		--verify=crc32c --do_verify=1 --verify_fatal=1 --verify_state_save=0 \
		--output-format=json
}

HOSTNQN=nqn.2014-08.org.nvmexpress:uuid:5ca1ab1e-0000-4000-8000-000000000000
HOSTID=5ca1ab1e-0000-4000-8000
