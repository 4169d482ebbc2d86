import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Access, CliEngine, Engine } from '../../../plugin/plugin.ts';
import { defaultAskSeconds } from '../../asks/ask.ts';
import {
  askFile,
  askFolder,
  askSettingsFile,
  createAskFolder
} from '../../asks/ask-files.ts';
import type { AskRules } from '../../asks/ask-rules.ts';
import type { AskSettings } from '../../asks/asker.ts';
import {
  canConnect,
  connected,
  connectionName
} from '../../engines/connection.ts';
import { labelOf } from '../../engines/engine-registry.ts';
import { HostError } from '../../errors.ts';
import { writeNew } from '../../state/files/atomic-file.ts';
import type { Program } from '../program.ts';
import type { Command, Waiting } from '../spawn-request.ts';
import { canPark, parkable } from './parking-shell.ts';

/** What runs that ask are started with. */
export interface AskParts {
  /** The program that writes a run's asks; its argument is the run's folder. */
  bridge: Command;
  /** The tools of that program that a model may call. */
  tools: string[];
  rules: AskRules;
  /** The program that takes the place of one that waits for long. */
  parked: Command;
  /** Seconds after which it does so; 0 for never. */
  parkAfterSeconds: number;
}

/** A bridge refuses an ask before its caller gives up. */
const slackSeconds = 60;

/**
 * Connects a run that asks to its bridge.
 * @returns its program, with the arguments and variables of the connection
 */
export function connectAsks(
  program: Program,
  waiting: Waiting,
  directory: string,
  parts: AskParts & { workspace: string }
): Program {
  const { engine, request, record } = waiting;
  if (record.ask === undefined || !canConnect(engine)) return program;
  const { bridge, tools, rules, workspace, parkAfterSeconds } = parts;
  const seconds = record.ask_timeout_seconds ?? defaultAskSeconds;
  const isParkable = canPark(engine, seconds, parkAfterSeconds);
  const settings: AskSettings = {
    agentId: record.agent_id,
    engine: record.engine,
    seconds,
    access: record.access,
    cwd: record.cwd,
    workspace,
    edits: engine.asks?.edits ?? [],
    reads: engine.asks?.reads ?? [],
    rules,
    ...(isParkable ? { parkAfterSeconds } : {})
  };
  // A start that the disk refused, or whose server was killed, left some files.
  if (waiting.isPutBack || waiting.isTakenOver)
    for (const path of [askFolder(directory), join(directory, connectionName)])
      rmSync(path, { recursive: true, force: true });
  createAskFolder(directory);
  writeNew(askFile(directory, askSettingsFile), JSON.stringify(settings));
  const server = {
    name: 'troupe-ask',
    command: bridge.command,
    args: [...bridge.args, directory],
    env: {},
    tools,
    callSeconds: seconds + slackSeconds
  };
  const { environment } = program;
  const connection = connected(engine, server, directory, {
    request,
    inTerminal: false,
    environment
  });
  const connect = (own: string[], session: string): Program => {
    const args = [...connection.args, ...own];
    return {
      ...program,
      ...(engine.asks?.acp
        ? {
            command: bridge.command,
            args: [
              ...[...bridge.args, directory, 'acp', session],
              ...[program.command, ...args]
            ]
          }
        : { args }),
      environment: { ...program.environment, ...connection.env }
    };
  };
  return isParkable
    ? parkable(program, engine, request, directory, parts.parked, connect)
    : connect(program.args, request.sessionId ?? '');
}

/**
 * Checks that an engine can be held to asking.
 * @param engines the other engines of this host
 * @throws HostError `ask_unsupported` with the nearest that works
 */
export function checkAsks(
  engine: Engine,
  access: Access,
  engines: Engine[]
): void {
  if (engine.kind === 'cli' && engine.asks?.access.includes(access)) return;
  const label = labelOf(engine);
  const able = engines
    .filter((one): one is CliEngine => one.kind === 'cli')
    .filter(({ asks }) => asks?.access.includes(access))
    .map(({ name }) => name);
  const nearest = [
    ...(engine.kind === 'cli' && engine.asks
      ? [`${label} with access ${engine.asks.access.join(' or ')}`]
      : []),
    ...(able.length > 0 ? [`an engine that can: ${able.join(', ')}`] : []),
    'no ask'
  ];
  throw new HostError(
    'ask_unsupported',
    engine.kind === 'api'
      ? `${label} is an API: it only answers with text, and has nothing to ask for.`
      : engine.asks
        ? `${label} cannot be held to access ${access} while it asks.`
        : `${label} cannot be held to asking: troupe has no way to answer for its program before it acts.`,
    `Use ${nearest.join(', or ')}.`
  );
}
