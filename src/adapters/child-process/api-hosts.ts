import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import {
  type HostedAgent,
  hostArgument
} from '../../core/engines/api/api-task.ts';
import type { LaunchRequest } from '../../core/runs/ports.ts';
import { expectDescriptorRoom } from './descriptor-room.ts';
import { isWindows } from './windows.ts';

/**
 * The program of an API agent with a shared host. Its stdin is a socket to the
 * host. A line to the host says that the agent runs, so that no provider is
 * asked for an agent that never starts. The host answers with `takenLine`, and
 * what follows is the agent's output. Without that answer, because the host or
 * the server ended before, the agent runs in a process of its own.
 */
const agentScript = `
directory=$1
shift
trap '' PIPE
{ echo >&0 && read -r taken; } 2>/dev/null &&
  PATH=/usr/bin:/bin\${PATH:+:$PATH} && exec cat
exec "$@" <"$directory/stdin"
`;

/** Windows has no POSIX shell, and no sockets that are passed on. */
export function isHosted({ sharedEngine }: LaunchRequest): boolean {
  return !isWindows && sharedEngine !== undefined;
}

/** The command of an agent whose stdin is a socket to its host. */
export function hostedCommand({
  directory,
  command,
  args
}: LaunchRequest): Pick<LaunchRequest, 'command' | 'args'> {
  const script = ['-c', agentScript, 'troupe-api-agent'];
  return {
    command: '/bin/sh',
    args: [...script, directory, command, ...args]
  };
}

/**
 * Starts a program whose parent has ended at once. A host must not be a
 * descendant of this process: the end of an agent that runs this process would
 * include it.
 */
const orphanScript = '"$@" & exit 0';

/**
 * The shared processes of API agents, one for each engine and environment. A
 * host outlives this process and ends by itself when it is idle, so none is
 * ever stopped from here.
 */
export class ApiHosts {
  readonly #hosts = new Map<string, ApiHost>();

  /**
   * A host that runs, or is starting, for this agent.
   * @throws if it cannot be started
   */
  hostOf(request: LaunchRequest): ApiHost {
    const environment = commonEnvironment(request.environment);
    const { sharedEngine, cwd } = request;
    const key = JSON.stringify([
      sharedEngine,
      cwd,
      Object.entries(environment).sort()
    ]);
    const running = this.#hosts.get(key);
    if (running?.isRunning) return running;
    const host = new ApiHost(request, environment, () => {
      if (this.#hosts.get(key) === host) this.#hosts.delete(key);
    });
    this.#hosts.set(key, host);
    return host;
  }
}

class ApiHost {
  readonly #child: ChildProcess;
  readonly #onEnd: () => void;
  /**
   * Sockets that the host has not confirmed, in the order of their sending.
   * They stay open until then: macOS can lose one that was closed on its way.
   */
  readonly #sent: Socket[] = [];
  #hasEnded = false;

  constructor(
    { command, args, cwd, sharedEngine = '' }: LaunchRequest,
    environment: Record<string, string>,
    onEnd: () => void
  ) {
    this.#onEnd = onEnd;
    expectDescriptorRoom(2);
    const host = [command, ...args, hostArgument, sharedEngine];
    this.#child = spawn('/bin/sh', ['-c', orphanScript, 'sh', ...host], {
      cwd,
      env: environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore', 'ipc']
    });
    this.#child.on('error', () => this.#end());
    this.#child.on('message', () => this.#sent.shift()?.destroy());
    this.#child.unref();
    this.#child.channel?.unref();
    // Nothing is printed there. The event `disconnect` is no sign of the end:
    // Node does not emit it while a socket that was sent is unconfirmed.
    const { stdout } = this.#child;
    stdout?.once('close', () => this.#end()).resume();
    if (stdout instanceof Socket) stdout.unref();
  }

  /** Whether it takes agents, as far as this process knows. */
  get isRunning(): boolean {
    return !this.#hasEnded && this.#child.connected;
  }

  /** Hands over an agent that has just started, with its stdin. */
  take(agent: HostedAgent, stdin: Socket): void {
    stdin.on('error', () => undefined);
    this.#sent.push(stdin);
    if (!this.isRunning) {
      this.#end();
      return;
    }
    this.#child.send(agent, stdin, { keepOpen: true }, (error) => {
      if (error) this.#end();
    });
  }

  /** Agents that it has not taken see the end of their input. */
  #end(): void {
    this.#hasEnded = true;
    this.#onEnd();
    for (const socket of this.#sent.splice(0)) socket.destroy();
  }
}

/** Without the variables that differ from agent to agent. */
function commonEnvironment(
  environment: Record<string, string>
): Record<string, string> {
  const own = /^TROUPE_(AGENT_(ID|DIR)|DEPTH)$/;
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !own.test(name))
  );
}
