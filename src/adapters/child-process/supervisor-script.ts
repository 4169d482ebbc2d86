/**
 * The supervisor: a fixed POSIX sh text that starts one agent and stays with
 * it, so that output, exit code and limits hold though every server is gone.
 * It gets everything as arguments; nothing of a caller is ever code.
 *
 * - `claim` is created exclusively before anything runs. Whoever creates it
 *   decides: the supervisor (its pid and start time), or someone who declares
 *   that the run never starts.
 * - `exit` was laid out beforehand at full length, so that the exit code can
 *   be written though the disk is full.
 * - The watchdog is a second process. At a limit it runs our reaper, which
 *   ends the tree; without node it falls back to the process group.
 * - In a terminal the shell leads its session, and dies with it, so that the
 *   kernel hangs up on all the others. What stays nevertheless is ended by the
 *   watchdog, which holds on for that.
 * - Where the system starts no more processes the shell ends at once, through
 *   its EXIT trap: then the agent could not start. Not in a terminal, where
 *   some shells would take that way when they are hung up on; and not in a
 *   child that is ended before it has let go of our traps.
 * - SIGTERM has a handler (not "ignore", which children would inherit), set
 *   after the watchdogs are forked: one with our handler would miss the signal
 *   that ends it, when an agent ends at once.
 *
 * stdin, stdout and stderr are already the agent's files; what the shell itself
 * would say on stderr goes nowhere. Descriptor 3, in mode `stop`, is a pipe
 * that ends when the server does.
 */
export const supervisorScript = `
dir=$1 wall=$2 idle=$3 limit=$4 mode=$5 mask=$6 node=$7 reaper=$8
shift 8
exec 4>&2 2>/dev/null

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
echo "$$ $born" >"$dir/claim" || exit 0
set +C
umask "$mask"

stop() {
  if [ -x "$node" ] && [ -r "$reaper" ]; then
    "$node" "$reaper" "$dir" "$1" && return
  fi
  echo "{\\"type\\":\\"stop\\",\\"why\\":\\"$1\\"}" >>"$dir/events.jsonl"
  trap '' TERM
  kill -TERM 0
  sleep 3
  kill -KILL 0
}

guards= terminal=
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
  size=$(wc -c <"$dir/stdout")
  errors=$(wc -c <"$dir/stderr")
  size=$((size + errors))
}

(
  # The agent's PATH is its own affair; we need sleep and wc.
  PATH=\${PATH:+$PATH:}/usr/bin:/bin
  trap 'kill -KILL $!; wait; exit 0' TERM
  [ -z "$terminal" ] || trap hung HUP
  left=$wall quiet=0 seen=-1
  while :; do
    step=15
    if [ "$idle" -gt 0 ]; then
      quarter=$(((idle + 3) / 4))
      [ "$step" -le "$quarter" ] || step=$quarter
    fi
    [ "$wall" -eq 0 ] || [ "$step" -le "$left" ] || step=$left
    sleep "$step" &
    wait $!
    read -r code <"$dir/exit" && [ -n "$code" ] && exit
    [ -z "$terminal" ] || true </dev/tty || hung
    left=$((left - step))
    if [ "$wall" -gt 0 ] && [ "$left" -le 0 ]; then
      stop timeout
      exit
    fi
    size
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
    stop disconnect
  ) </dev/null >/dev/null 4>&- &
  guards="$guards $!"
fi
trap : INT QUIT TERM
[ -n "$terminal" ] || trap : HUP
echo "$guards" >>"$dir/claim"

(exec "$@" 2>&4 3<&- 4>&-)
code=$?
trap - EXIT
echo "$code" 1<>"$dir/exit"
kill -TERM $guards 2>/dev/null
wait
exit 0
`;
