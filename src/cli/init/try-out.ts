import { loadConfig } from '../../config.ts';
import { labelOf, toolNameOf } from '../../core/engines/engine-registry.ts';
import { HostError, messageOf } from '../../core/errors.ts';
import { createHost } from '../../host.ts';
import { checkEngine } from '../engine-check.ts';
import { withHost } from '../shared.ts';
import {
  delegateFirst,
  entryOf,
  type FirstDelegation
} from './first-delegation.ts';
import { type Start, startServer } from './server-check.ts';

/** CLI engines that are installed and logged in, as far as one can see. */
export async function readyEngines(workspace: string): Promise<string[]> {
  const host = await createHost(await loadConfig({ workspace }));
  const engines = host.registry
    .all()
    .filter(({ kind, name }) => kind === 'cli' && name !== 'rehearsal');
  const checks = await Promise.all(
    engines.map((engine) => checkEngine(host, engine))
  );
  return checks.filter(({ ready }) => ready).map(({ name }) => name);
}

/**
 * The tool that an engine's agents are started by.
 * @throws HostError when it is none that can look at files
 */
export async function toolOf(
  engine: string,
  workspace: string
): Promise<string> {
  const config = await loadConfig({ workspace });
  const host = await createHost({ ...config, alsoEngines: [engine] });
  const found = host.registry.get(engine);
  if (found.kind === 'cli') return toolNameOf(found);
  throw new HostError(
    'invalid_input',
    `${labelOf(found)} is an API and works on no files.`,
    'Give --engine one that is a program: troupe engines lists them.'
  );
}

/** What came of the first task; undefined when it was interrupted. */
export type TryOut =
  | (FirstDelegation & { problem?: undefined })
  | { problem: string };

/** One agent that reads, started by way of the server of an entry. */
export async function tryOut(
  start: Start,
  engine: string,
  signal: AbortSignal
): Promise<TryOut | undefined> {
  const { workspace } = start;
  const tool = await toolOf(engine, workspace);
  const isOff = engine === 'rehearsal';
  const session = startServer({
    ...start,
    // It is off unless it is named.
    ...(isOff ? { besides: { TROUPE_ENGINES: engine } } : {})
  });
  let done: Omit<FirstDelegation, 'entry'> | undefined;
  try {
    await session.initialize(60_000);
    done = await delegateFirst(session, engine, tool, signal);
  } catch (error) {
    return { problem: messageOf(error) };
  } finally {
    await session.close();
  }
  if (!done) return undefined;
  const { agent_id: id } = done;
  // What IAC.md says is true before it is shown.
  const entry = await withHost({ workspace }, async (host) =>
    entryOf(id, host)
  );
  return { ...done, entry };
}
