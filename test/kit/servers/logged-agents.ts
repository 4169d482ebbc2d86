import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createProcesses } from '../../../src/adapters/child-process/processes.ts';
import { Journal } from '../../../src/core/audit/journal/journal.ts';
import { JournalFiles } from '../../../src/core/audit/journal/journal-files.ts';
import type {
  FinishedRecord,
  SpawnedRecord
} from '../../../src/core/audit/journal/journal-record.ts';
import { Rotation } from '../../../src/core/audit/journal/rotation.ts';
import { createRedactor } from '../../../src/core/audit/redaction/redact.ts';
import { AgentPages } from '../../../src/core/audit/views/agent-page.ts';
import { IacView } from '../../../src/core/audit/views/iac-view.ts';
import { identityOf } from '../../../src/core/paths/records.ts';
import { RunStore } from '../../../src/core/runs/run-store.ts';
import { type ParsedEntry, parseIac } from '../judges/iac-parser.ts';
import { createTempWorkspace } from '../workspaces/temp-workspace.ts';

interface LogOptions {
  secrets?: string[];
  maximumEntries?: number;
  maximumBytes?: number;
}

/** A workspace's log directory, written to as runs write to it. */
export function createLog(options: LogOptions = {}) {
  const workspace = createTempWorkspace();
  const redact = createRedactor(options.secrets ?? []);
  const logDirectory = join(workspace.path, 'logs');
  const { paths } = workspace;
  const path = paths.journal;
  const identity = () => identityOf(paths);
  const runs = new RunStore(paths.record, paths.views.agents);
  const pages = new AgentPages({
    ...{ store: runs, identity, redact },
    engineOf: () => undefined
  });
  const heads = join(workspace.record, 'heads');
  const journal = new Journal(path, heads, redact);
  const newRotation = (maximumBytes = 0, problems: unknown[] = []) =>
    new Rotation({
      journal: path,
      maximumBytes,
      lock: join(workspace.record, 'rotation', 'lock'),
      witnesses: createProcesses(workspace.path),
      onProblem: (problem) => problems.push(problem)
    });
  const newView = (changes: LogOptions = {}) => {
    const { maximumEntries = 200, maximumBytes = 4 * 1024 * 1024 } = {
      ...options,
      ...changes
    };
    return new IacView({
      paths,
      identity,
      pages,
      maximumEntries,
      maximumBytes,
      redact
    });
  };
  const read = (name: string) => readFileSync(join(logDirectory, name), 'utf8');
  const store = (id: string, name: string, text: string) => {
    const relative = `spawns/${id}/${name}`;
    const file = join(paths.record, relative);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return journal.textOf(text, relative);
  };
  /** The page of an agent, as it is written at its end. */
  const page = (id: string) => {
    mkdirSync(paths.views.agents, { recursive: true });
    writeFileSync(join(paths.views.agents, `${id}.md`), '');
  };
  const spawn = (
    id: string,
    prompt: string,
    changes: Partial<SpawnedRecord> = {}
  ) => {
    const text = store(id, 'prompt.txt', prompt);
    journal.append({ ...spawned, agent_id: id, prompt: text, ...changes });
  };
  const finish = (
    id: string,
    result: string,
    changes: Partial<FinishedRecord> = {}
  ) => {
    const text = store(id, 'result.txt', result);
    page(id);
    journal.append({ ...finished, agent_id: id, result: text, ...changes });
  };
  /** The entries of IAC.md, newest first. */
  const entries = () => entriesIn(join(logDirectory, 'IAC.md'));
  /** The entries of all archive files, oldest file first. */
  const archived = () =>
    archives(logDirectory).flatMap((name) =>
      entriesIn(join(logDirectory, 'archive', name))
    );
  return {
    ...{
      workspace,
      identity,
      pages,
      logDirectory,
      path,
      heads,
      journal,
      redact,
      newView,
      newRotation
    },
    /** All that the journal's current file holds. */
    journalText: () => readFileSync(path, 'utf8'),
    ...{ read, spawn, finish, entries, archived },
    /** Archives what the journal's file holds. */
    rotate: () => newRotation().run(),
    /** Where the segments lie, oldest first. */
    segments: () =>
      new JournalFiles(path)
        .list()
        .slice(0, -1)
        .map(({ path: segment }) => segment),
    /** Agents by number, each ended before the next began. */
    run(from: number, to: number) {
      for (let number = from; number < to; number += 1) {
        const task = `task ${number}`;
        spawn(agentId(number), task, { task });
        finish(agentId(number), `answer ${number}`);
      }
    },
    /** Numbers of all entries, in IAC.md and archive, lowest first. */
    everywhere: () =>
      [...archived(), ...entries()]
        .map(({ id }) => Number.parseInt(id, 16))
        .sort((a, b) => a - b)
  };
}

function entriesIn(path: string): ParsedEntry[] {
  return existsSync(path) ? parseIac(readFileSync(path, 'utf8')).entries : [];
}

export type TestLog = ReturnType<typeof createLog>;

/** Eight hex digits, as agents have. */
export function agentId(number: number): string {
  return number.toString(16).padStart(8, '0');
}

export function archives(logDirectory: string): string[] {
  try {
    return readdirSync(join(logDirectory, 'archive'))
      .filter((name) => name.startsWith('IAC-'))
      .sort();
  } catch {
    return [];
  }
}

/** The records of an agent, for a writer of its own. */
export function spawnOf(number: number): SpawnedRecord {
  const text = `task ${number}`;
  const prompt = { chars: text.length, text };
  return { ...spawned, agent_id: agentId(number), task: text, prompt };
}

export function endOf(number: number): FinishedRecord {
  const text = `answer ${number}`;
  const result = { chars: text.length, text };
  return { ...finished, agent_id: agentId(number), result };
}

const spawned: SpawnedRecord = {
  type: 'spawned',
  agent_id: '00000000',
  engine: 'claude',
  label: 'Claude',
  kind: 'cli',
  model: 'sonnet',
  tools: 'Bash, Read',
  access: 'full',
  enforcement: 'enforced',
  cwd: '/workspace',
  task: 'a task',
  parent: null,
  continues: null,
  created_at: '2026-11-21T08:11:25.000Z',
  prompt: { chars: 0, text: '' }
};

const finished: FinishedRecord = {
  type: 'finished',
  agent_id: '00000000',
  status: 'completed',
  error: null,
  error_code: null,
  model: 'sonnet',
  exit_code: 0,
  cost_usd: 0.12345,
  usage: null,
  duration_ms: 12_345,
  completed_at: '2026-11-21T08:11:37.345Z',
  result: { chars: 0, text: '' }
};
