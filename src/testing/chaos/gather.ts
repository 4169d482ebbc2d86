import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  processEnvironments,
  processTable
} from '../../adapters/child-process/process-table.ts';
import { isTemporary, readIfThere } from '../../core/state/atomic-file.ts';
import { runCommand } from '../command-line.ts';
import { councilIn, leftBeside } from '../council-servers.ts';
import { type ParsedEntry, parseIac } from '../iac-parser.ts';
import type { McpClient } from '../mcp-client.ts';
import { aftermath } from '../worker-chaos.ts';
import { namedIn } from './behaviours.ts';
import { add, type Diary } from './diary.ts';
import type { AgentEvidence, Evidence } from './evidence.ts';
import type { Servers } from './servers.ts';
import { list } from './spawning.ts';
import type { ChaosStage } from './stage.ts';

export interface Scene {
  stage: ChaosStage;
  servers: Servers;
  diary: Diary;
  /** The server that was started last, and lives. */
  last: McpClient;
  /** Process ids of those that ended before the others were let go. */
  gone: Set<number>;
}

/** All that a run has left, for the judge. */
export async function gather(scene: Scene): Promise<Evidence> {
  const { stage, servers, diary, last } = scene;
  const unread: string[] = [];
  const entries = entriesIn(stage, unread);
  const ends = endsIn(stage);
  const spawns = stage.state('spawns');
  const made = namesIn(spawns).filter((name) => /^[0-9a-f]{8}$/.test(name));
  const ids = new Set([...made, ...diary.acknowledged]);
  const agents: AgentEvidence[] = [];
  for (const id of ids) {
    const logged = entries.filter((entry) => entry.id === id);
    agents.push(await agentIn(scene, id, ends.get(id) ?? [], logged));
  }
  const { data } = await last.call('list', { limit: 5 });
  const verified = await runCommand(stage, ['log', '--verify']);
  const context = readIfThere(join(stage.path, 'logs', 'CONTEXT.md')) ?? '';
  return {
    agents,
    requests: diary.requests,
    council: { acknowledged: diary.responses, kept: keptIn(stage) },
    workers: aftermath(stage, diary.tasks),
    survivors: [...survivorsOf(stage, last.pid), ...panesOf(stage)],
    leftovers: leftoversIn(stage),
    verified: {
      code: verified.code,
      text: verified.stdout + verified.stderr
    },
    unread,
    context: context.match(/^\| .?[0-9a-f]{8}.*$/gm) ?? [],
    running: ['running', 'queued'].flatMap((key) =>
      list({ data, isError: false, text: '' }, key).map(({ id }) => String(id))
    ),
    servers: servers.evidence(),
    seen: diary.seen
  };
}

async function agentIn(
  { stage, diary, last, gone }: Scene,
  id: string,
  journal: string[],
  logged: ParsedEntry[]
): Promise<AgentEvidence> {
  const file = (name: string) => readIfThere(stage.state('spawns', id, name));
  const found = namedIn(file('prompt.txt') ?? '');
  const { name = '', kind = '' } = found ?? {};
  const record = JSON.parse(file('record.json') ?? '{}');
  const outcome = JSON.parse(file('outcome.json') ?? '{}');
  const { data } = await last.call('result', { agent_id: id });
  const facts = readIfThere(join(stage.facts, name || 'none')) ?? '';
  const timeOf = (name: string, otherwise: number) =>
    statSync(stage.state('spawns', id, name), { throwIfNoEntry: false })
      ?.mtimeMs ?? otherwise;
  const from = timeOf('record.json', 0);
  const to = timeOf('outcome.json', Date.now());
  return {
    ...{ id, name, kind, journal },
    acknowledged: diary.acknowledged.has(id),
    told: diary.told.get(id) ?? [],
    facts: facts
      .split('\n')
      .filter((line) => line.endsWith(id))
      .map((line) => line.split(' ')[0] ?? ''),
    status: data.status === 'not_found' ? undefined : String(data.status),
    answer: String(data.result),
    errorCode: outcome.error_code ?? null,
    outcome: outcome.status,
    logged: logged.map(({ word }) => word),
    injuries: diary.injuries.get(id) ?? [],
    isCanceled: diary.canceled.has(id),
    isOwnerGone: gone.has(record.owner?.pid),
    endsWithOwner: record.on_disconnect === 'stop',
    wasDiskFull: diary.wasFull(from, to),
    outputBytes: diary.outputs.get(id) ?? 0
  };
}

function entriesIn({ path }: ChaosStage, unread: string[]): ParsedEntry[] {
  const logs = join(path, 'logs');
  const archives = namesIn(join(logs, 'archive'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(logs, 'archive', name));
  return [join(logs, 'IAC.md'), ...archives].flatMap((file) => {
    try {
      return parseIac(readIfThere(file) ?? '').entries;
    } catch (error) {
      unread.push(`${file}: ${String(error)}`);
      return [];
    }
  });
}

/** The ends that the journal tells, in all of its parts. */
function endsIn({ record, paths }: ChaosStage): Map<string, string[]> {
  const ends = new Map<string, string[]>();
  const journals = [record, paths.segments].flatMap((directory) =>
    namesIn(directory)
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => join(directory, name))
  );
  for (const line of journals.flatMap((file) =>
    (readIfThere(file) ?? '').split('\n')
  )) {
    const pattern = /"type":"finished","agent_id":"(\w+)","status":"(\w+)"/;
    const [, id, status] = pattern.exec(line) ?? [];
    if (id && status && line.endsWith('}')) add(ends, id, status);
  }
  return ends;
}

/** Responses of the council and of all before it. */
function keptIn(stage: ChaosStage): [string, string][] {
  const { council } = stage.paths.shared;
  const file = join(council, 'state.json');
  const history = join(council, 'history');
  const files = namesIn(history).map((name) => join(history, name));
  return [file, ...files]
    .filter(existsSync)
    .flatMap((path) =>
      councilIn(path).feedback.map(({ id, content }): [string, string] => [
        id,
        content
      ])
    );
}

/** Whoever carries the mark of an agent or a worker of this workspace. */
function survivorsOf({ record }: ChaosStage, except: number): string[] {
  const pids = processTable()
    .filter(({ zombie, pid }) => !zombie && pid !== except)
    .map(({ pid }) => pid);
  return [...processEnvironments(pids)].flatMap(([pid, text]) => {
    const [, of] = /TROUPE_AGENT_DIR=([^\0]*)/.exec(text) ?? [];
    return of?.startsWith(record)
      ? [`${pid} of ${of.slice(record.length)}`]
      : [];
  });
}

/** Panes that belong to workers. */
export function panesOf({ terminal }: ChaosStage): string[] {
  const panes = terminal?.panes() ?? [];
  return panes
    .filter(({ agent }) => agent !== '')
    .map(({ id, agent }) => `pane ${id} of ${agent}`);
}

/** Drafts of killed servers go a minute later: that is tested elsewhere. */
function leftoversIn(stage: ChaosStage): string[] {
  const council = join(stage.paths.shared.council, 'state.json');
  return [
    ...namesIn(stage.state('open')).map((name) => `open/${name}`),
    ...namesIn(stage.state('summons')).map((name) => `summons/${name}`),
    ...namesIn(stage.state('drafts')).filter((name) => !isTemporary(name)),
    ...namesIn(stage.state('spawns')).filter(isTemporary),
    ...(existsSync(council)
      ? leftBeside(council).filter((name) => !isTemporary(name))
      : [])
  ];
}

function namesIn(directory: string): string[] {
  return existsSync(directory)
    ? readdirSync(directory).filter((name) => name !== '.gitignore')
    : [];
}
