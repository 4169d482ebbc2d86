import { tmpdir } from 'node:os';
import { EngineFault } from '../core/engines/engine-fault.ts';
import { childEnvironment } from '../core/engines/environment.ts';
import type { Host } from '../host.ts';
import type { CliEngine, Engine } from '../plugin.ts';
import { type EngineFacts, factsOf } from './engine-facts.ts';
import { type ProbeOutput, probeProgram } from './probe-program.ts';
import { oneLine } from './text.ts';

export type LoginState = 'logged in' | 'not logged in' | 'unknown';

/** What `doctor` found out about an engine, without asking a model. */
export interface EngineCheck extends EngineFacts {
  version: string | null;
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
    return { ...facts, version: null, login: null, ready: false, next };
  }
}

async function check(
  host: Host,
  engine: Engine,
  facts: EngineFacts
): Promise<EngineCheck> {
  if (engine.kind === 'api') {
    const { available: ready } = facts;
    const where = engine.keyUrl ? ` Get a key at ${engine.keyUrl}.` : '';
    const next = `Set ${engine.keyNames.join(' or ')}.${where}`;
    const rest = { version: null, login: null, ready };
    return { ...facts, ...rest, next: ready ? null : next };
  }
  if (facts.path === null)
    return {
      ...facts,
      version: null,
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
    settings.env
  );
  const ask = (args: string[]) =>
    probeProgram(path, [...(settings.args ?? []), ...args], environment);
  const { login: loginProbe, version, loginHint } = engine.probe ?? {};
  const [answer, loginAnswer] = await Promise.all([
    ask(version ?? ['--version']),
    loginProbe ? ask(loginProbe.args) : undefined
  ]);
  const login = (loginAnswer && loginProbe?.read(loginAnswer)) ?? 'unknown';
  // Some know nothing of a key in the environment and work with it.
  const ready =
    answer?.exitCode === 0 &&
    (login !== 'not logged in' || facts.keys.length > 0);
  return {
    ...facts,
    version: versionOf(answer),
    login,
    ready,
    next: ready ? null : nextFor(answer, path, loginHint)
  };
}

function nextFor(
  answer: ProbeOutput | undefined,
  path: string,
  loginHint: string | undefined
): string {
  if (!answer) return `Find out why ${path} does not answer: it was given 5 s.`;
  if (answer.exitCode !== 0)
    return `Find out why ${path} fails: exit code ${answer.exitCode}.`;
  return loginHint ?? 'Log in with the program itself.';
}

/** The first line that says something. */
function versionOf(answer: ProbeOutput | undefined): string | null {
  if (answer?.exitCode !== 0) return null;
  const lines = `${answer.stdout}\n${answer.stderr}`.split('\n').map(oneLine);
  return lines.find(Boolean)?.slice(0, 80) ?? null;
}
