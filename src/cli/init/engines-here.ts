import { loadConfig } from '../../config/config.ts';
import { inheritedVariables } from '../../core/engines/environment.ts';
import { createHost, type Host } from '../../host/host.ts';
import type { Engine } from '../../plugin/plugin.ts';
import type { Client } from '../clients/clients.ts';
import { wordsOf } from '../clients/troupe-launch.ts';
import { checkEngine, describeReadiness } from '../doctor/engine-check.ts';
import { probedVariable, probeProgram } from '../doctor/probe-program.ts';
import { type EngineCheck, enginesDocument } from '../json/setup-documents.ts';
import { environmentOf, type Start } from './server-check.ts';

/** An engine as this shell sees it. */
export interface EngineHere {
  check: EngineCheck;
  /** Variables that are set here and that its agents get. */
  needs: string[];
}

/**
 * The engines of a workspace.
 * @throws HostError `config_invalid`
 */
export async function enginesHere(workspace: string): Promise<EngineHere[]> {
  const host = await createHost(await loadConfig({ workspace }));
  return Promise.all(
    host.registry.all().map(async (engine) => ({
      check: await checkEngine(host, engine),
      needs: neededBy(engine, host)
    }))
  );
}

/** The variables that engines need which are ready here. */
export function variablesOf(engines: EngineHere[]): string[] {
  const ready = engines.filter(({ check }) => check.ready);
  return [...new Set(ready.flatMap(({ needs }) => needs))].sort();
}

/** Variables on which the way to a provider depends, whatever the engine. */
const ofNetwork =
  /^(https?_proxy|no_proxy|all_proxy|node_extra_ca_certs|ssl_cert_(file|dir))$/i;

function neededBy(engine: Engine, host: Host): string[] {
  const { registry, keys } = host;
  const common = Object.keys(inheritedVariables());
  const network = common.filter((name) => ofNetwork.test(name));
  if (engine.kind === 'api') {
    const key = keys.find(engine);
    return key?.from === 'environment' ? [key.name, ...network] : [];
  }
  const { passEnv = [] } = registry.settingsOf(engine.name);
  const own = Object.keys(inheritedVariables(engine.env, { passEnv }));
  return [...own.filter((name) => !common.includes(name)), ...network];
}

/**
 * Says in one line which engines are ready when the client starts the server.
 * `isWhole` is false if one is not that is ready here. Undefined when the
 * client's server does not say.
 */
export async function readinessFrom(
  start: Start,
  here: EngineHere[]
): Promise<{ line: string; isWhole: boolean } | undefined> {
  const there = await checksOf(start);
  const ready = here.filter(({ check }) => check.ready);
  if (!there || ready.length === 0) return undefined;
  const environment = environmentOf(start.client, start.entry, start.workspace);
  const words = ready.map(({ check: { name, keys }, needs }) => {
    const found = there.find((one) => one.name === name);
    const lost = needs.filter((one) => !(one in environment));
    const lostKeys = keys
      .map((key) => key.name)
      .filter((key) => lost.includes(key));
    if (lostKeys.length > 0 && found?.keys.length === 0)
      return `${name} has no key (${lostKeys.join(', ')} is not handed on)`;
    if (lost.length > 0) return `${name} does not get ${lost.join(', ')}`;
    if (found?.ready) return `${name} ready`;
    return `${name} ${found ? describeReadiness(found) : 'not offered'}`;
  });
  return {
    line: `from ${start.client.label}: ${words.join(', ')}`,
    isWhole: words.every((word) => word.endsWith(' ready'))
  };
}

/** What `troupe engines` says in the environment that the client hands on. */
async function checksOf({
  client,
  entry,
  workspace
}: Start): Promise<EngineCheck[] | undefined> {
  const [command = '', ...args] = wordsOf(entry);
  const launch = args.slice(0, args.indexOf('mcp'));
  const answer = await probeProgram(
    command,
    [...launch, 'engines', '--json', '--workspace', workspace],
    { ...environmentOf(client, entry, workspace), [probedVariable]: '1' },
    { cwd: workspace }
  );
  try {
    return enginesDocument.parse(JSON.parse(answer?.stdout ?? '')).engines;
  } catch {
    return undefined;
  }
}

/** How the user lets a client hand on more. */
export function handOnStep({ handsOnBy }: Client): string {
  return handsOnBy === undefined
    ? 'it hands no keys on: put them into api_keys.json'
    : `to hand them on, name them in "${handsOnBy}" of its entry, or take that out with --remove and call init again`;
}
