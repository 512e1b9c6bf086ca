#!/bin/sh
# A Slurm of one node on this machine, without systemd: slurm.sh up|control|down FOLDER [CPUS]. For root on Debian.
# Where slurmdbd and MariaDB are installed there is a database of accounts too, so that real limits can be set.
set -eu
what=$1
folder=$2
cpus=${3:-1}
export SLURM_CONF="$folder/slurm.conf"
host=$(hostname -s)
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
number() { cat "$1" 2> /dev/null || true; }
# is_up NAME FILE: whether the process whose number is in a file is still the one that wrote it.
is_up() { [ -s "$2" ] && [ "$(cat "/proc/$(number "$2")/comm" 2> /dev/null)" = "$1" ]; }
# end NAME FILE: asks it to end, kills it after ten seconds, and returns when it is gone.
end() {
  is_up "$1" "$2" || return 0
  kill "$(number "$2")" 2> /dev/null || true
  waited=0
  while is_up "$1" "$2"; do
    waited=$((waited + 1))
    if [ "$waited" -eq 100 ]; then kill -9 "$(number "$2")" 2> /dev/null || true; fi
    sleep 0.1
  done
}
# until_done SECONDS COMMAND…: again and again until it succeeds.
until_done() {
  left=$(($1 * 10))
  shift
  until "$@" > /dev/null 2>&1; do
    left=$((left - 1))
    if [ "$left" -le 0 ]; then
      echo "Slurm does not come up: $*" >&2
      tail -n 5 "$folder"/*.log >&2
      exit 1
    fi
    sleep 0.1
  done
}
accounts() {
  base=$folder/base
  port=$(free_port)
  mysql_install_db --no-defaults --auth-root-authentication-method=normal --skip-test-db --user=root --datadir="$base" > /dev/null 2>&1
  mariadbd --no-defaults --user=root --datadir="$base" --bind-address=127.0.0.1 --port="$port" --socket="$folder/base.sock" \
    --pid-file="$folder/base.pid" --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=32M --log-error="$folder/base.log" > /dev/null 2>&1 &
  until_done 20 mariadb --no-defaults --socket="$folder/base.sock" -u root \
    -e "create user slurm@'127.0.0.1' identified by 'test'; grant all on *.* to slurm@'127.0.0.1'"
  cat > "$folder/slurmdbd.conf" << CONF
AuthType=auth/munge
AuthInfo=socket=$folder/munge/sock
DbdHost=localhost
DbdPort=$1
SlurmUser=root
LogFile=$folder/slurmdbd.log
PidFile=$folder/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$port
StorageUser=slurm
StoragePass=test
CONF
  chmod 600 "$folder/slurmdbd.conf"
  slurmdbd
}
case $what in
  up)
    mkdir -p "$folder/state" "$folder/spool" "$folder/munge"
    chmod 755 "$folder" "$folder/munge"
    head -c 1024 /dev/urandom > "$folder/munge/key"
    chmod 400 "$folder/munge/key"
    munged --force --key-file="$folder/munge/key" --socket="$folder/munge/sock" --pid-file="$folder/munge/pid" \
      --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
    cat > "$SLURM_CONF" << CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/sock
CredType=cred/munge
MpiDefault=none
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PriorityType=priority/basic
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
MinJobAge=2
MessageTimeout=10
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus Features=fast,node-1 State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
    if command -v slurmdbd > /dev/null && command -v mariadbd > /dev/null; then
      dbd=$(free_port)
      accounts "$dbd"
      cat >> "$SLURM_CONF" << CONF
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=$dbd
AccountingStoragePass=$folder/munge/sock
AccountingStorageEnforce=limits
CONF
      until_done 30 sacctmgr -i add cluster test
      # What was added though its answer was lost is added already.
      until_done 30 sh -c 'sacctmgr -i add account all; sacctmgr -nP list account | grep -q "^all|"'
      until_done 30 sh -c 'sacctmgr -i add user root account=all; sacctmgr -nP list user withassoc | grep -q "^root|.*|all|"'
    fi
    slurmctld -c
    slurmd -c
    until_done 20 sh -c 'sinfo -h -o %T | grep -q idle'
    ;;
  control) # The controller again, with what it had saved. It believes that jobs run which have ended since, until their node
    # registers again: by itself within half an hour, and at once when its own program is started anew.
    slurmctld
    until_done 20 sh -c 'scontrol ping | grep -q UP'
    end slurmd "$folder/slurmd.pid"
    slurmd
    until_done 20 sh -c 'sinfo -h -o %T | grep -q "idle\|alloc\|mixed\|drain"'
    ;;
  mend) # A node that Slurm took out of use, because the number of a forgotten job was given again.
    if sinfo -h -o %T 2> /dev/null | grep -q 'drain\|down'; then
      scontrol update nodename="$host" state=resume 2> /dev/null || true
    fi
    # A job that is believed to run though it ended while nobody heard it. Its node tells when it registers; but of one that began in the
    # last twenty seconds Slurm believes that it is about to begin.
    squeue -h -t running -o '%i %M' 2> /dev/null | while read -r job time; do
      seconds=$(echo "$time" | awk -F: '{ print $(NF - 1) * 60 + $NF }')
      if [ "$seconds" -gt 25 ] && ! pgrep -f "slurmstepd: \\[$job\\." > /dev/null; then
        end slurmd "$folder/slurmd.pid"
        slurmd
        sleep 5
        break
      fi
    done
    # It is started once more, two minutes later.
    squeue -h -t pending -o '%i %r' 2> /dev/null | while read -r job why; do
      if [ "$why" = BeginTime ]; then
        scontrol update jobid="$job" starttime=now 2> /dev/null || true
      fi
    done
    ;;
  down)
    if is_up slurmctld "$folder/slurmctld.pid"; then
      timeout 5 scancel --me --full 2> /dev/null || true
      timeout 10 sh -c 'while [ -n "$(squeue -h)" ]; do sleep 0.2; done' || true
    fi
    end slurmd "$folder/slurmd.pid"
    end slurmctld "$folder/slurmctld.pid"
    end slurmdbd "$folder/slurmdbd.pid"
    end mariadbd "$folder/base.pid"
    end munged "$folder/munge/pid"
    ;;
esac
