import { tmpdir } from 'node:os';
import { EngineFault } from '../core/engines/engine-fault.ts';
import { childEnvironment } from '../core/engines/environment.ts';
import type { Host } from '../host.ts';
import type { CliEngine, Engine } from '../plugin.ts';
import { type Drift, driftOf, helpOf, mendDrift, versionOf } from './drift.ts';
import { type EngineFacts, factsOf } from './engine-facts.ts';
import {
  type ProbeOptions,
  type ProbeOutput,
  probeLimitMs,
  probeProgram
} from './probe-program.ts';
import { versionIn } from './release.ts';

export type LoginState = 'logged in' | 'not logged in' | 'unknown';

/** What `doctor` found out about an engine, without asking a model. */
export interface EngineCheck extends EngineFacts {
  version: string | null;
  /** Null when there is nothing to compare. */
  tested: Drift | null;
  /** Null for an API: its key is what counts. */
  login: LoginState | null;
  /** Nothing is known that would keep it from working. */
  ready: boolean;
  /** What the user can do about it; null when there is nothing to do. */
  next: string | null;
}

export async function checkEngine(
  host: Host,
  engine: Engine
): Promise<EngineCheck> {
  const facts = factsOf(host, engine);
  try {
    return await check(host, engine, facts);
  } catch (error) {
    if (!(error instanceof EngineFault)) throw error;
    const next = `${error.message} Mend it, or take it out of "plugins".`;
    return { ...facts, ...nothing, login: null, ready: false, next };
  }
}

const nothing = { version: null, tested: null };

async function check(
  host: Host,
  engine: Engine,
  facts: EngineFacts
): Promise<EngineCheck> {
  if (engine.kind === 'api') {
    const { available: ready } = facts;
    const where = engine.keyUrl ? ` Get a key at ${engine.keyUrl}.` : '';
    const next = `Set ${engine.keyNames.join(' or ')}.${where}`;
    const rest = { ...nothing, login: null, ready };
    return { ...facts, ...rest, next: ready ? null : next };
  }
  if (facts.path === null)
    return {
      ...facts,
      ...nothing,
      login: 'unknown',
      ready: false,
      next: engine.install
        ? `Install it: ${engine.install}`
        : `Put the program "${facts.command}" on PATH.`
    };
  return checkProgram(host, engine, facts, facts.path);
}

async function checkProgram(
  host: Host,
  engine: CliEngine,
  facts: EngineFacts,
  path: string
): Promise<EngineCheck> {
  const settings = host.registry.settingsOf(engine.name);
  const environment = childEnvironment(
    engine,
    { prompt: '', access: 'read', cwd: host.config.workspace, asRoot: false },
    { agent_id: 'doctor', depth: 0 },
    tmpdir(),
    settings
  );
  const stop = new AbortController();
  // What the project brings may name files of the project.
  const isOwn =
    settings.command !== undefined ||
    settings.args !== undefined ||
    host.registry.placeOf(engine) !== undefined;
  const options = {
    signal: stop.signal,
    ...(isOwn ? { cwd: host.config.workspace } : {})
  };
  const ask = asker(path, settings.args ?? [], environment, options);
  const { login: loginProbe, loginHint } = engine.probe ?? {};
  const version = versionOf(engine);
  const asked = helpOf(engine) ?? [];
  const help = Promise.all(asked.map((args) => ask(args)));
  const [answer, loginAnswer] = await Promise.all([
    version ? ask(version) : undefined,
    loginProbe ? ask(loginProbe.args) : undefined
  ]);
  // A program that hangs at its version hangs at its help as well.
  if (version && !answer) stop.abort();
  const told = answer?.exitCode === 0 ? versionIn(answer, engine) : undefined;
  const answers = { version: told?.release, help: await help };
  const tested = driftOf(engine, answers);
  const login = (loginAnswer && loginProbe?.read(loginAnswer)) ?? 'unknown';
  // Some know nothing of a key in the environment and work with it.
  const mayLogIn = login !== 'not logged in' || facts.keys.length > 0;
  // A program that was not asked may do well.
  const isWell = version === undefined || answer?.exitCode === 0;
  const ready = isWell && mayLogIn && !tested?.gone?.length;
  const mend = () => mendDrift(engine, tested, pluginOf(host, engine));
  const failure = version && failing(answer, path);
  const next = failure ?? mend() ?? loginHint ?? logIn;
  return {
    ...facts,
    version: told?.line ?? null,
    tested,
    login,
    ready,
    next: ready ? null : next
  };
}

const logIn = 'Log in with the program itself.';

/** Starts the program at most once for the same arguments. */
function asker(
  path: string,
  before: string[],
  environment: Record<string, string>,
  options: ProbeOptions
) {
  const answers = new Map<string, Promise<ProbeOutput | undefined>>();
  return (args: string[]) => {
    const key = JSON.stringify(args);
    const answer =
      answers.get(key) ??
      probeProgram(path, [...before, ...args], environment, options);
    answers.set(key, answer);
    return answer;
  };
}

/** What has to be updated when a plugin is behind its program. */
function pluginOf({ registry }: Host, engine: CliEngine): string {
  return registry.placeOf(engine) === undefined ? 'troupe' : 'the plugin';
}

function failing(
  answer: ProbeOutput | undefined,
  path: string
): string | undefined {
  if (!answer)
    return `Find out why ${path} does not answer: it was given ${probeLimitMs / 1000} s.`;
  if (answer.exitCode === 0) return undefined;
  return `Find out why ${path} fails: exit code ${answer.exitCode}.`;
}
