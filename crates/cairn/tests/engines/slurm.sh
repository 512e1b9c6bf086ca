#!/bin/sh
# A Slurm of one node on this machine, without systemd: slurm.sh up|control|down FOLDER [CPUS]. For root on Debian.
set -eu
what=$1
folder=$2
cpus=${3:-1}
export SLURM_CONF="$folder/slurm.conf"
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
end() { if [ -s "$1" ]; then kill "$(cat "$1")" 2> /dev/null || true; fi; }
case $what in
  up)
    mkdir -p "$folder/state" "$folder/spool" "$folder/munge"
    chmod 755 "$folder" "$folder/munge"
    head -c 1024 /dev/urandom > "$folder/munge/key"
    chmod 400 "$folder/munge/key"
    munged --force --key-file="$folder/munge/key" --socket="$folder/munge/sock" --pid-file="$folder/munge/pid" \
      --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
    host=$(hostname -s)
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
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
    slurmctld -c
    slurmd -c
    for _ in $(seq 100); do
      sinfo -h -o %T 2> /dev/null | grep -q idle && exit 0
      sleep 0.2
    done
    echo "Slurm does not come up" >&2
    tail -n 5 "$folder/slurmctld.log" "$folder/slurmd.log" >&2
    exit 1
    ;;
  control) slurmctld ;; # the controller again, with what it knew
  down)
    end "$folder/slurmd.pid"
    end "$folder/slurmctld.pid"
    end "$folder/munge/pid"
    ;;
esac
