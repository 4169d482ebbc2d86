import { notClaimed } from '../../core/runs/run.ts';

/**
 * The supervisor: a fixed POSIX sh program that starts one agent and stays with
 * it, so that output, exit code and limits are kept even if every server has
 * ended. Its input is arguments; no text of a caller is ever run as code.
 *
 * - `claim` is created exclusively before anything runs. Its creator decides:
 *   the supervisor (with its pid and start time), or a process that declares
 *   that the run never starts. A supervisor that cannot create or write it, as
 *   on a full disk, leaves none and ends with an exit code of its own.
 * - `exit` is written at full length before the start, so that the exit code
 *   fits on a full disk. A note about lost output is appended to it.
 * - With `pipe`, readers copy the agent's output from pipes to its files, and
 *   keep reading when the disk is full. They ignore signals and end with the
 *   last writer. SIGWINCH means that the agent has ended: then a child that
 *   keeps the pipe open delays them only until the pipe is empty, or for a
 *   second if they cannot see that.
 * - The server ends the leftovers of an agent. If the server has ended, this
 *   program checks for leftovers and runs the reaper.
 * - The watchdog is a second process. It truncates `alive` at intervals, as a
 *   sign of life for servers that cannot see these processes, and ends the tree
 *   if one of them has recorded an end anyway. At a limit it runs the reaper,
 *   which ends the tree; without node it signals the process group.
 * - The limits of time and silence pause while the agent has an open ask, at
 *   most as long as an ask may take.
 * - In a terminal the shell leads its session and dies with it, so the kernel
 *   sends SIGHUP to the other processes. The watchdog survives that and ends
 *   the rest.
 * - When the system starts no more processes, the shell ends at once through
 *   its EXIT trap: the agent could not start. The trap is not set in a
 *   terminal, where some shells would run it at SIGHUP; and it has no effect in
 *   a child that ends before it has reset our traps.
 * - SIGTERM has a handler, because children would inherit "ignore". It is set
 *   after the watchdogs are forked: with it, a watchdog could miss the signal
 *   that ends it, if the agent ends at once.
 *
 * stdin, stdout and stderr are the agent's files; the shell's own messages are
 * dropped. Descriptor 3, in mode `stop`, is a pipe that ends with the server.
 */
export const supervisorScript = `
dir=$1 wall=$2 idle=$3 limit=$4 mode=$5 asks=$6 mask=$7 node=$8 reaper=$9
output=\${10}
shift 10
exec 4>&2 2>/dev/null
# The agent keeps its own PATH.
ours=/usr/bin:/bin\${PATH:+:$PATH}

born=
born() {
  if read -r born 2>/dev/null <"/proc/$$/stat"; then
    born=\${born##*) }
    set -- $born
    born=\${20}
  else
    born=$(LC_ALL=C ps -o lstart= -p $$ | sed 's/^ *//;s/ *$//;s/  */_/g')
  fi
}
born
umask 077
set -C
if ! true >"$dir/claim"; then
  [ ! -e "$dir/claim" ] || exit 0
  exit ${notClaimed}
fi
set +C
if ! echo "$$ $born" >>"$dir/claim"; then
  (PATH=$ours && exec rm -f "$dir/claim")
  exit ${notClaimed}
fi
umask "$mask"

stop() {
  if [ -x "$node" ] && [ -r "$reaper" ]; then
    "$node" "$reaper" "$dir" "$1" && return
  fi
  echo "{\\"type\\":\\"stop\\",\\"why\\":\\"$1\\"}" >>"$dir/events.jsonl"
  stop_group
}
stop_group() {
  trap '' TERM
  kill -TERM 0
  sleep 3
  kill -KILL 0
}

guards= readers= terminal=
[ ! -t 0 ] || terminal=yes
forkless() {
  read -r self rest </proc/self/stat && [ "$self" = "$$" ] || return
  kill -TERM $guards
  echo "troupe: the system started no process for it" >&4
  echo 126 1<>"$dir/exit"
}
[ -n "$terminal" ] || trap forkless EXIT
hung() {
  [ -x "$node" ] && [ -r "$reaper" ] && exec "$node" "$reaper" "$dir" hangup
  stop hangup
}

size() {
  out=$(wc -c <"$dir/stdout")
  errors=$(wc -c <"$dir/stderr")
  size=$((out + errors))
}
# Without a server, this alone sees what an agent with files loses meanwhile.
lost() {
  [ "$output" = file ] || return
  [ "$out" -ge "$had" ] || echo "[emptied]" >>"$dir/exit"
  had=$out
  # A file at a whole block cannot grow on a full disk.
  [ -z "$full" ] || [ $((out % 1024)) -ne 0 ] || echo "[filled]" >>"$dir/exit"
}

# True while an ask is open. An ask that outlives its limit has no bridge.
held=0 was=
asking() {
  open=
  for ask in "$dir"/asks/*.json; do
    [ ! -e "$ask" ] || [ -e "\${ask%json}answer" ] || open=$open$ask
  done
  [ -n "$open" ] || return
  [ "$open" = "$was" ] || held=0
  was=$open held=$((held + 1))
  [ "$held" -le $((asks + 15)) ]
}
# Sleeps, and sets step to the seconds without an open ask.
pass() {
  if [ "$asks" -eq 0 ]; then
    sleep "$step" &
    wait $!
    return
  fi
  slept=0 counted=0
  while [ "$slept" -lt "$step" ]; do
    sleep 1 &
    wait $!
    slept=$((slept + 1))
    asking || counted=$((counted + 1))
  done
  step=$counted
}

(
  PATH=$ours
  umask 077
  trap 'kill -KILL $!; wait; exit 0' TERM
  [ -z "$terminal" ] || trap hung HUP
  left=$wall quiet=0 seen=-1 had=0
  while :; do
    step=15
    if [ "$idle" -gt 0 ]; then
      quarter=$(((idle + 3) / 4))
      [ "$step" -le "$quarter" ] || step=$quarter
    fi
    [ "$wall" -eq 0 ] || [ "$step" -le "$left" ] || step=$left
    pass
    read -r code <"$dir/exit" && [ -n "$code" ] && exit
    # An empty file needs a new block for a byte.
    full=
    echo >"$dir/alive" || full=yes
    true >"$dir/alive"
    if [ -e "$dir/outcome.json" ]; then
      stop canceled
      exit
    fi
    [ -z "$terminal" ] || true </dev/tty || hung
    left=$((left - step))
    if [ "$wall" -gt 0 ] && [ "$left" -le 0 ]; then
      stop timeout
      exit
    fi
    size
    lost
    if [ "$limit" -gt 0 ] && [ "$size" -gt "$limit" ]; then
      stop output_limit
      exit
    fi
    if [ "$size" -eq "$seen" ]; then quiet=$((quiet + step)); else quiet=0; fi
    seen=$size
    if [ "$idle" -gt 0 ] && [ "$quiet" -ge "$idle" ]; then
      stop idle_timeout
      exit
    fi
  done
) </dev/null >/dev/null 3<&- 4>&- &
guards=$!

if [ "$mode" = stop ]; then
  (
    read -r gone <&3
    # The supervisor waits for its reaper: another one would end that.
    trap '' TERM
    stop disconnect
  ) </dev/null >/dev/null 4>&- &
  guards="$guards $!"
fi

keep() {
  trap '' HUP INT QUIT TERM
  trap over WINCH
  PATH=$ours
  LC_ALL=C cat <&5 2>>"$dir/exit" 6>&- &
  cat=$!
  # The trap is set: the agent starts once both readers are up.
  echo >&6
  exec 6>&-
  wait $cat && exit
  # cat has reported why, unless it was killed.
  echo "[cut]" >>"$dir/exit"
  cat <&5 >/dev/null &
  cat=$!
  wait $cat
  exit
}
over() {
  # What the agent has put out is at most a full pipe of a mebibyte.
  kill -CONT $cat
  copied
  most=$((copied + 1048576)) looks=0
  while :; do
    if read -r state <"/proc/$cat/stat"; then
      case \${state##*) } in
        # Asleep, so the pipe is empty; or ended.
        [SZX]*) break ;;
        # The disk keeps it waiting.
        D*) sleep 0.05 || sleep 1 ;;
        *) looks=$((looks + 1)) ;;
      esac
    elif [ -d /proc/self ] || ! kill -0 $cat; then
      break
    else
      looks=$((looks + 1))
    fi
    copied
    [ "$copied" -lt "$most" ] || break
    if [ ! -d /proc/self ]; then
      [ "$looks" -lt 40 ] || break
    elif [ "$looks" -ge 400 ]; then
      echo "[cut]" >>"$dir/exit"
      break
    fi
    [ "$looks" -le 20 ] && [ -d /proc/self ] || sleep 0.05 || sleep 1
  done
  kill -KILL $cat
  exit
}
copied() {
  copied=0
  [ -r "/proc/$cat/io" ] || return 0
  while read -r name bytes; do
    [ "$name" != wchar: ] || copied=$bytes
  done <"/proc/$cat/io"
}

if [ "$output" = pipe ] &&
  (PATH=$ours && cd "$dir" && exec mkfifo -m 600 up out err); then
  # Opening a FIFO for both never blocks. The readers run in parentheses: when
  # a function is redirected, some shells keep a descriptor that it closes, and
  # that would be an end for writing.
  exec 5<>"$dir/up" 6>"$dir/up" 9<"$dir/up"
  exec 5<>"$dir/out" 7>"$dir/out"
  (keep) 5<"$dir/out" >&1 3<&- 4>&- 7>&- 9<&- &
  readers=$!
  exec 5<>"$dir/err" 8>"$dir/err"
  (keep) 5<"$dir/err" >&4 3<&- 4>&- 7>&- 8>&- 9<&- &
  readers="$readers $!"
  exec 5<&- 6>&-
  read -r up <&9 && read -r up <&9
  exec 9<&-
  (PATH=$ours && cd "$dir" && exec rm -f up out err)
else
  # Without a free file, some of the pipes may have been made.
  [ "$output" = file ] || (PATH=$ours && cd "$dir" && exec rm -f up out err)
  exec 7>&1 8>&4
fi
trap : INT QUIT TERM
[ -n "$terminal" ] || trap : HUP
echo "$guards $readers" >>"$dir/claim"

# A stop request may have come before there was an agent.
asked=
while read -r line || [ -n "$line" ]; do
  case $line in *'"type":"stop"'*) asked=yes ;; esac
done <"$dir/events.jsonl"
code=143
if [ -z "$asked" ]; then
  (exec "$@" >&7 2>&8 3<&- 4>&- 7>&- 8>&-)
  code=$?
fi
trap - EXIT
exec 7>&- 8>&-
if [ -n "$readers" ]; then
  kill -WINCH $readers
  wait $readers
fi
echo "$code" 1<>"$dir/exit"
kill -TERM $guards 2>/dev/null
wait

adopted() {
  if read -r parent 2>/dev/null <"/proc/$$/stat"; then
    parent=\${parent##*) }
    parent=\${parent#* }
    parent=\${parent%% *}
  else
    parent=$(ps -o ppid= -p $$)
    parent=\${parent##* }
  fi
  [ "$parent" != "$PPID" ]
}
left() {
  [ -r "/proc/$$/environ" ] || return 0
  PATH=$ours
  marked=$(
    unset TROUPE_AGENT_DIR
    exec grep -lsF "TROUPE_AGENT_DIR=$dir" /proc/[0-9]*/environ
  )
  [ "$marked" = "/proc/$$/environ" ] || return 0
  # This shell and grep are in the session.
  set -- $(exec grep -ls ") [A-Z] [0-9]* [0-9]* $$ " /proc/[0-9]*/stat)
  [ $# -gt 2 ]
}
if adopted && left; then
  "$node" "$reaper" "$dir" left || stop_group
fi
exit 0
`;
