# Sourced by the job scripts: the settings that all of them take, and how a step of ranks is run.
# shellcheck shell=bash
#
# Settings, from the environment or by sbatch --export=ALL,NAME=VALUE:
#   MPICOLL_HOME      checkout of mpicoll                              (the folder you submit from)
#   MPICOLL_MODULES   modules to load: "gcc/13 openmpi/5.0"            (none)
#   MPICOLL_VENV      virtual environment with mpicoll                 (.venv of the checkout, if any)
#   MPICOLL_IMAGE     Apptainer image with mpicoll, in place of that   (none)
#   MPICOLL_LAUNCHER  command that starts ranks: "srun --mpi=pmix"     (what suits the MPI library)
#   MPICOLL_RESULTS   folder for results; each job makes its own in it (results)
#   MPICOLL_RESUME    results of an earlier job, to go on with         (none)
#   MPICOLL_REQUEUE   1: near the time limit the job queues again      (0)
#
# What sbatch is given after the script's name goes to the mpicoll command.

LATE=75 # exit status of a job that the time limit cut short and that can go on

say() { # progress and problems, on standard error
    echo "mpicoll: $*" >&2
}

fail() { # end the job with a message that says the cure
    say "error: $*"
    exit 1
}

prepare() { # all that must be right before the first step; the job's name is $1
    [ -n "${SLURM_JOB_ID-}" ] || fail "this is a job script; submit it: sbatch jobs/$1.sbatch"
    resolve
    load_modules
    find_program
    choose_launcher
    make_results "$1"
    trap 'late=1; stop' USR1
    say "job $SLURM_JOB_ID: ${SLURM_NTASKS-?} ranks on ${SLURM_JOB_NODELIST-?}; ranks start by: ${launch[*]}"
}

resolve() { # every host of the job must have an address here
    local host
    for host in $(scontrol show hostnames "${SLURM_JOB_NODELIST-}"); do
        getent hosts "$host" >/dev/null ||
            fail "host $host of this job does not resolve on $(hostname); tell the administrators, or leave it out: sbatch --exclude=$host"
    done
}

load_modules() {
    [ -n "${MPICOLL_MODULES-}" ] || return 0
    type module >/dev/null 2>&1 ||
        fail "MPICOLL_MODULES=$MPICOLL_MODULES, but there is no command module here; unset it, or submit with bash -l in the first line"
    local module
    for module in $MPICOLL_MODULES; do
        module load "$module" || fail "module $module cannot be loaded; see: module avail"
    done
}

find_program() { # how mpicoll is called on ranks: the array program; a rank's exception ends all
    local venv=${MPICOLL_VENV:-$home/.venv}
    container=()
    if [ -n "${MPICOLL_IMAGE-}" ]; then
        [ -r "$MPICOLL_IMAGE" ] || fail "MPICOLL_IMAGE=$MPICOLL_IMAGE: no such file on $(hostname)"
        container=(apptainer exec ${SLURM_GPUS_ON_NODE:+--nv} "$MPICOLL_IMAGE")
    elif [ -n "${MPICOLL_VENV-}" ] || [ -e "$venv" ]; then
        [ -x "$venv/bin/python" ] ||
            fail "MPICOLL_VENV=$venv: no virtual environment on $(hostname); make one: python3 -m venv $venv && $venv/bin/pip install $home"
        PATH="$venv/bin:$PATH"
    fi
    program=("${container[@]}" python -m mpi4py -m mpicoll)
    call --version >/dev/null || fail "mpicoll cannot be run (see above) by: ${container[*]} python -m mpicoll; name where it is installed: MPICOLL_VENV or MPICOLL_IMAGE"
}

call() { # mpicoll as one process, without MPI
    "${container[@]}" python -m mpicoll "$@"
}

choose_launcher() { # how ranks are started: the array launch, without their number
    read -r -a launch <<<"${MPICOLL_LAUNCHER:-$(launcher)}"
    [ "${launch[0]}" = srun ] || return 0
    # one dead task ends the step; a step gets all of the job, whatever other steps hold of it
    launch+=(--kill-on-bad-exit=1 --overlap --mem=0)
    [ -z "${SLURM_CPUS_PER_TASK-}" ] || launch+=("--cpus-per-task=$SLURM_CPUS_PER_TASK")
    [ -z "${SLURM_GPUS_ON_NODE-}" ] || launch+=(--gpu-bind=none)
}

launcher() { # the launcher that suits the MPI library
    local script='from mpicoll.measure.environment import library; found = library(); print(found["vendor"], found["library"])'
    local library
    library=$("${container[@]}" python -c "$script") ||
        fail "the MPI library cannot be loaded; see above"
    case $library in
        "Open MPI"* | "Spectrum MPI"*) echo mpiexec --bind-to none ;; # knows no PMI-2, and srun's PMIx is often another
        *CRAY* | *Cray*) echo srun ;;
        *) echo srun --mpi=pmi2 ;;
    esac
}

make_results() { # the folder results: new, or that of the run that goes on
    local place=${MPICOLL_RESULTS:-results}
    results=${MPICOLL_RESUME:-$place/$1-$SLURM_JOB_ID}
    if [ -n "${MPICOLL_RESUME-}" ]; then
        [ -d "$results" ] || fail "MPICOLL_RESUME=$results: no such folder; name the results of an earlier job"
    elif [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then
        { mkdir -p "$place" && mkdir "$results"; } ||
            fail "no folder for results: $results cannot be made; choose another place: MPICOLL_RESULTS"
    fi
    { touch "$results/.writable" && rm "$results/.writable"; } ||
        fail "results cannot be written to $results; choose another place: MPICOLL_RESULTS"
}

step() { # run mpicoll with the arguments after -- on ranks, started with the options before it
    local options=() status=0
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    [ -z "$late" ] || return "$LATE"
    "${launch[@]}" "${options[@]}" "${program[@]}" "${@:2}" &
    child=$!
    while kill -0 "$child" 2>/dev/null; do
        status=0
        wait "$child" || status=$?
    done
    child=
    [ -z "$late" ] || return "$LATE"
    return "$status"
}

stop() { # end the running step; what it has measured is saved
    [ -z "$child" ] || kill -TERM "$child" 2>/dev/null || true
}

report() { # table and picture of the records given, made anew
    local plot=()
    ! find_matplotlib || plot=(--plot "$results/report.png")
    rm -f "$results"/report.*
    call report "$@" "${plot[@]}" >"$results/report.txt" && cat "$results/report.txt"
}

find_matplotlib() {
    "${container[@]}" python -c 'import matplotlib' 2>/dev/null
}

finish() { # end the job with the status $1, and say how a job that was cut short goes on
    if [ "$1" = "$LATE" ]; then
        say "the time limit is near; what was measured is saved in $results"
        if [ "${MPICOLL_REQUEUE:-0}" = 1 ]; then
            scontrol requeue "$SLURM_JOB_ID"
            sleep 300 # SLURM ends this script; its own end would be taken for that of the next run
        else
            say "to go on: MPICOLL_RESUME=$results sbatch ... as before, or with a longer --time"
        fi
    elif [ "$1" != 0 ]; then
        say "error: exit status $1; see above; common failures: $home/jobs/README.md"
    fi
    say "results: $results"
    exit "$1"
}

home=${MPICOLL_HOME:-${SLURM_SUBMIT_DIR:-.}}
late=
child=
