import { enforcementOf, toolNameOf } from '../core/engines/engine-registry.ts';
import { handedOn } from '../core/engines/environment.ts';
import type { Host } from '../host.ts';
import type { Enforcement, Engine } from '../plugin.ts';

/** An engine as `engines` and `doctor` tell it. */
export interface EngineFacts {
  name: string;
  kind: 'cli' | 'api';
  /** Name of its MCP tool. */
  tool: string;
  description: string;
  /** True when a run could start: program found, or key found. */
  available: boolean;
  /** The program; null for an API. */
  command: string | null;
  /** Where it was found. */
  path: string | null;
  access: { read: Enforcement; write: Enforcement; full: Enforcement } | null;
  models: { default: string | null; aliases: Record<string, string> };
  keys: VisibleKey[];
  /** `passEnv` of the settings. */
  pass_env: PassedVariable[];
}

/** A key by name only: its value is nobody's business. */
export interface VisibleKey {
  name: string;
  /** `environment`, or the path of the key file. */
  from: string;
}

/** A variable that the user has handed on, without its value. */
export interface PassedVariable {
  name: string;
  is_set: boolean;
}

export function factsOf(host: Host, engine: Engine): EngineFacts {
  const { registry, processes } = host;
  const isCli = engine.kind === 'cli';
  const command = isCli ? registry.commandOf(engine) : null;
  const path = command === null ? undefined : processes.locate(command);
  const keys = visibleKeys(host, engine);
  return {
    name: engine.name,
    kind: engine.kind,
    tool: toolNameOf(engine),
    description: engine.description,
    available: isCli ? path !== undefined : host.keys.isReady(engine),
    command,
    path: path ?? null,
    access: isCli ? accessOf(engine) : null,
    models: {
      default: registry.modelOf(engine, undefined) ?? null,
      aliases: engine.models?.aliases ?? {}
    },
    keys,
    pass_env: passedVariables(host, engine)
  };
}

/** `enforced`, or which access is only asked for. */
export function describeAccess({ access }: EngineFacts): string {
  if (!access) return 'text only';
  const asked = Object.entries(access)
    .filter(([, enforcement]) => enforcement === 'asked')
    .map(([name]) => name);
  if (asked.length === 0) return 'enforced';
  return asked.length === 3 ? 'asked' : `${asked.join(', ')} asked`;
}

function accessOf(engine: Engine) {
  return {
    read: enforcementOf(engine, 'read'),
    write: enforcementOf(engine, 'write'),
    full: enforcementOf(engine, 'full')
  };
}

const secretName = /(API_?KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$/i;

/** The key an API would get; variables with keys that a program would see. */
function visibleKeys(host: Host, engine: Engine): VisibleKey[] {
  if (engine.kind === 'api') {
    const key = host.keys.find(engine);
    return key ? [{ name: key.name, from: key.from }] : [];
  }
  const settings = host.registry.settingsOf(engine.name);
  return Object.entries(handedOn(engine.env, settings))
    .filter(([name, value]) => value !== '' && secretName.test(name))
    .map(([name]) => ({ name, from: 'environment' }));
}

function passedVariables({ registry }: Host, engine: Engine): PassedVariable[] {
  const { passEnv = [] } = registry.settingsOf(engine.name);
  const given = handedOn({}, { passEnv });
  return passEnv.map((name) => ({ name, is_set: name in given }));
}
