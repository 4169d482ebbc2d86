import { tmpdir } from 'node:os';
import {
  enforcementOf,
  labelOf,
  type Replaced
} from '../../core/engines/engine-registry.ts';
import {
  childEnvironment,
  inheritedVariables,
  namedBy,
  ownConfiguration
} from '../../core/engines/environment.ts';
import { EngineFault } from '../../core/engines/failures.ts';
import type { Host } from '../../host/host.ts';
import { toolNameOf } from '../../interfaces/mcp/tool/spawn-tool-name.ts';
import type { CliEngine, Engine } from '../../plugin/plugin.ts';
import type { EngineCheck, EngineFacts } from '../json/setup-documents.ts';
import {
  isProbed,
  type ProbeOptions,
  type ProbeOutput,
  probeLimitMs,
  probeProgram
} from './probe-program.ts';
import {
  driftOf,
  driftStep,
  helpOf,
  versionIn,
  versionOf
} from './version-check.ts';

/** The facts about an engine that need no start of its program. */
function factsOf(host: Host, engine: Engine): EngineFacts {
  const { registry, processes } = host;
  const isCli = engine.kind === 'cli';
  const command = isCli ? registry.commandOf(engine) : null;
  const path = command === null ? undefined : processes.locate(command);
  const { plugin } =
    registry.replaced.find((one) => one.engine === engine.name) ?? {};
  const { passEnv = [] } = registry.settingsOf(engine.name);
  const passed = inheritedVariables({}, { passEnv });
  return {
    name: engine.name,
    kind: engine.kind,
    tool: toolNameOf(engine),
    description: engine.description,
    ...(plugin === undefined ? {} : { replaced_by: plugin }),
    available: isCli ? path !== undefined : host.keys.isReady(engine),
    command,
    path: path ?? null,
    access: isCli
      ? {
          read: enforcementOf(engine, 'read'),
          write: enforcementOf(engine, 'write'),
          full: enforcementOf(engine, 'full')
        }
      : null,
    models: {
      default: registry.modelOf(engine, undefined) ?? null,
      aliases: engine.models?.aliases ?? {}
    },
    keys: visibleKeys(host, engine),
    pass_env: passEnv.map((name) => ({ name, is_set: name in passed }))
  };
}

/**
 * For an API, the key that it gets. For a program, the variables of its
 * environment whose names look like keys.
 */
function visibleKeys(host: Host, engine: Engine): EngineFacts['keys'] {
  if (engine.kind === 'api') {
    const key = host.keys.find(engine);
    return key ? [{ name: key.name, from: key.from }] : [];
  }
  const settings = host.registry.settingsOf(engine.name);
  const named = namedBy(engine.env ?? {}, { ...process.env, ...settings.env });
  return Object.entries(inheritedVariables(engine.env, settings))
    .filter(
      ([name, value]) =>
        value !== '' && (secretName.test(name) || named.includes(name))
    )
    .map(([name]) => ({ name, from: 'environment' }));
}

const secretName = /(API_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/i;

export function describeReplaced({ engine, plugin }: Replaced): string {
  return `${engine} is the plugin ${plugin}, not the built-in engine`;
}

/** `enforced`, or the levels that the engine is only asked to keep. */
export function describeAccess({ access }: EngineFacts): string {
  if (!access) return 'text only';
  const asked = Object.entries(access)
    .filter(([, enforcement]) => enforcement === 'asked')
    .map(([name]) => name);
  if (asked.length === 0) return 'enforced';
  return asked.length === 3 ? 'asked' : `${asked.join(', ')} asked`;
}

/** `yes`, or in a few words what keeps the engine from working. */
export function describeReadiness(check: EngineCheck): string {
  const { ready, kind, available, login } = check;
  if (ready) return 'yes';
  if (!available) return kind === 'cli' ? 'not installed' : 'no key';
  return login === 'not logged in' ? login : 'see doctor';
}

/**
 * Whether an engine can work, without asking a model. `engines`, `doctor` and
 * `init` all say what this returns.
 */
export async function checkEngine(
  host: Host,
  engine: Engine
): Promise<EngineCheck> {
  const facts = factsOf(host, engine);
  const check = { ...facts, version: null, tested: null, login: null };
  try {
    if (engine.kind === 'api') return checkApi(engine, check);
    const { path } = facts;
    if (path !== null)
      return { ...check, ...(await checkProgram(host, engine, facts, path)) };
    const next = engine.install
      ? `Install it: ${engine.install}`
      : `Put the program "${facts.command}" on PATH.`;
    return { ...check, login: 'unknown', ready: false, next };
  } catch (error) {
    if (!(error instanceof EngineFault)) throw error;
    const next = `${error.message} Correct it, or remove it from "plugins".`;
    return { ...check, ready: false, next };
  }
}

function checkApi(
  { keyNames, keyUrl }: Extract<Engine, { kind: 'api' }>,
  check: Omit<EngineCheck, 'ready' | 'next'>
): EngineCheck {
  const where = keyUrl ? ` Get a key at ${keyUrl}.` : '';
  const next = `Set ${keyNames.join(' or ')}.${where}`;
  const ready = check.available;
  return { ...check, ready, next: ready ? null : next };
}

async function checkProgram(
  host: Host,
  engine: CliEngine,
  facts: EngineFacts,
  path: string
): Promise<Omit<EngineCheck, keyof EngineFacts>> {
  const { registry, config } = host;
  const settings = registry.settingsOf(engine.name);
  const environment = childEnvironment(
    engine,
    { prompt: '', access: 'read', cwd: config.workspace, asRoot: false },
    { agent_id: 'doctor', depth: 0 },
    tmpdir(),
    settings
  );
  const isPlugin = registry.placeOf(engine) !== undefined;
  // A configured command or argument, or a plugin, may use relative paths.
  const usesWorkspace =
    settings.command !== undefined || settings.args !== undefined || isPlugin;
  const stop = new AbortController();
  const asked = { ...environment, ...engine.probe?.env };
  const probe = cachedProbe(path, settings.args ?? [], asked, {
    signal: stop.signal,
    ...(usesWorkspace ? { cwd: config.workspace } : {})
  });
  const { login: loginProbe, loginHint } = engine.probe ?? {};
  const version = versionOf(engine);
  // The prober has checked the flags: they are the same in any environment.
  const pages = isProbed ? [] : (helpOf(engine) ?? []);
  const help = Promise.all(pages.map(probe));
  const [answer, loginAnswer] = await Promise.all([
    version ? probe(version) : undefined,
    loginProbe ? probe(loginProbe.args) : undefined
  ]);
  // A program that does not print its version does not print its help either.
  if (version && !answer) stop.abort();
  const printed =
    answer?.exitCode === 0 ? versionIn(answer, engine) : undefined;
  const tested = driftOf(engine, printed?.release, await help);
  const provider = engine.probe?.provider?.(ownConfiguration(environment));
  const login = provider
    ? loginAt(provider, environment)
    : ((loginAnswer && loginProbe?.read(loginAnswer)) ?? 'unknown');
  // Some programs work with a key from the environment that they do not report.
  const mayLogIn =
    login !== 'not logged in' || (!provider && facts.keys.length > 0);
  const versionWorks = version === undefined || answer?.exitCode === 0;
  const ready = versionWorks && mayLogIn && !tested?.gone?.length;
  const next = () =>
    (version && failureStep(answer, path)) ??
    driftStep(engine, tested, isPlugin ? 'the plugin' : 'troupe') ??
    (provider &&
      `Set ${provider.keyName}, which ${labelOf(engine)}'s own configuration names for its provider ${provider.name}.`) ??
    loginHint ??
    'Log in with the program itself.';
  return {
    version: printed?.line ?? null,
    tested,
    login,
    ready,
    next: ready ? null : next()
  };
}

/** Whether the key of a provider is there, if it needs one. */
function loginAt(
  { keyName }: { keyName?: string },
  environment: Record<string, string>
): 'logged in' | 'not logged in' {
  return keyName === undefined || environment[keyName]
    ? 'logged in'
    : 'not logged in';
}

/** Starts the program at most once for the same arguments. */
function cachedProbe(
  path: string,
  firstArgs: string[],
  environment: Record<string, string>,
  options: ProbeOptions
) {
  const answers = new Map<string, Promise<ProbeOutput | undefined>>();
  return (args: string[]) => {
    const key = JSON.stringify(args);
    const answer =
      answers.get(key) ??
      probeProgram(path, [...firstArgs, ...args], environment, options);
    answers.set(key, answer);
    return answer;
  };
}

function failureStep(
  answer: ProbeOutput | undefined,
  path: string
): string | undefined {
  if (!answer)
    return `Find out why ${path} does not answer within ${probeLimitMs / 1000} s.`;
  if (answer.exitCode === 0) return undefined;
  return `Find out why ${path} fails: exit code ${answer.exitCode}.`;
}
