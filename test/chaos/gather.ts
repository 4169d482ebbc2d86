import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  processEnvironments,
  processTable
} from '../../src/adapters/child-process/process-table.ts';
import {
  isTemporary,
  readIfExists
} from '../../src/core/state/files/atomic-file.ts';
import { aftermath } from '../kit/agents/worker-chaos.ts';
import { type ParsedEntry, parseIac } from '../kit/judges/iac-parser.ts';
import { until } from '../kit/judges/until.ts';
import { runCommand } from '../kit/servers/command-line.ts';
import { councilIn, leftBeside } from '../kit/servers/council-servers.ts';
import type { McpClient } from '../kit/servers/mcp-client.ts';
import { namedIn } from './behaviours.ts';
import { add, type Diary } from './diary.ts';
import type { AgentEvidence, Evidence } from './evidence.ts';
import { madeBy } from './program.ts';
import type { Servers } from './servers.ts';
import { list } from './spawning.ts';
import type { ChaosStage } from './stage.ts';

export interface Scene {
  stage: ChaosStage;
  servers: Servers;
  diary: Diary;
  /** The server that was started last, and lives. */
  last: McpClient;
  /** Process ids of servers that ended before the rest were closed. */
  gone: Set<number>;
}

/** An end is in the journal so long after it was written down. */
const cutMs = 3000;

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
  const isOpen = (line: string) =>
    ![...diary.doubted].some((id) => line.includes(id));
  const context = readIfExists(join(stage.path, 'logs', 'CONTEXT.md')) ?? '';
  return {
    agents,
    requests: diary.requests,
    council: { acknowledged: diary.responses, kept: keptIn(stage) },
    workers: aftermath(stage, diary.tasks),
    survivors: [...(await survivorsOf(stage, last.pid)), ...panesOf(stage)],
    leftovers: leftoversIn(stage).filter(isOpen),
    verified: {
      code: verified.code,
      text: verified.stdout + verified.stderr,
      isCut: diary.journalsRemoved.length > 0
    },
    unread,
    context: (context.match(/^\| .?[0-9a-f]{8}.*$/gm) ?? []).filter(isOpen),
    running: ['running', 'queued']
      .flatMap((key) => list({ data, isError: false, text: '' }, key))
      .map(({ id }) => String(id))
      .filter(isOpen),
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
  const file = (name: string) => readIfExists(stage.state('spawns', id, name));
  const found = diary.agents.get(id) ?? namedIn(file('prompt.txt') ?? '');
  const { name = '', kind = '' } = found ?? {};
  const record = JSON.parse(file('record.json') ?? '{}');
  const outcome = JSON.parse(file('outcome.json') ?? '{}');
  const { data } = await last.call('result', { agent_id: id });
  const facts = readIfExists(join(stage.facts, name || 'none')) ?? '';
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
    error: typeof data.error === 'string' ? data.error : null,
    errorCode: outcome.error_code ?? null,
    outcome: outcome.status,
    logged: logged.map(({ word }) => word),
    injuries: diary.injuries.get(id) ?? [],
    isCanceled: diary.canceled.has(id),
    isOwnerGone: gone.has(record.owner?.pid),
    endsWithOwner: record.on_disconnect === 'stop',
    wasDiskFull: diary.wasFull(from, to),
    isJournalCut: diary.journalsRemoved.some((at) => to < at + cutMs),
    // Files come and go during a clean.
    othersFiles: diary.wasWiped(from, to) ? [] : othersFilesIn(data, name),
    isDoubted: diary.doubted.has(id),
    outputBytes: diary.outputs.get(id) ?? 0
  };
}

/** Files of other agents that are not reported as shared. */
function othersFilesIn(data: Record<string, unknown>, name: string): string[] {
  return list({ data, isError: false, text: '' }, 'files_changed')
    .filter(({ shared }) => shared !== true)
    .map(({ path }) => String(path))
    .filter((path) => path.startsWith('made-by-') && path !== madeBy(name));
}

function entriesIn({ path }: ChaosStage, unread: string[]): ParsedEntry[] {
  const logs = join(path, 'logs');
  const archives = namesIn(join(logs, 'archive'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(logs, 'archive', name));
  return [join(logs, 'IAC.md'), ...archives].flatMap((file) => {
    try {
      return parseIac(readIfExists(file) ?? '').entries;
    } catch (error) {
      unread.push(`${file}: ${String(error)}`);
      return [];
    }
  });
}

/** The ends in all segments of the journal. */
function endsIn({ record, paths }: ChaosStage): Map<string, string[]> {
  const ends = new Map<string, string[]>();
  const journals = [record, paths.segments].flatMap((directory) =>
    namesIn(directory)
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => join(directory, name))
  );
  for (const line of journals.flatMap((file) =>
    (readIfExists(file) ?? '').split('\n')
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
  const current = existsSync(file) ? councilIn(file).session?.id : undefined;
  // A start that failed leaves a copy, which the next one replaces.
  const files = namesIn(history)
    .filter((name) => name !== `${current}.json`)
    .map((name) => join(history, name));
  return [file, ...files]
    .filter(existsSync)
    .flatMap((path) =>
      councilIn(path).feedback.map(({ id, content }): [string, string] => [
        id,
        content
      ])
    );
}

/** Within this time after its end, all that an agent started has ended. */
const promisedMs = 5000;

async function survivorsOf(
  stage: ChaosStage,
  except: number
): Promise<string[]> {
  const look = () => markedIn(stage, except);
  await until('the last end', () => look().length === 0, promisedMs).catch(
    () => undefined
  );
  return look();
}

/** Every process with the mark of an agent or a worker of this workspace. */
function markedIn({ record }: ChaosStage, except: number): string[] {
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
