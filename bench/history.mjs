/**
 * Creates the record of thousands of ended agents by the classes of the core,
 * so that the files are the same as those of a server.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

/** The number of the first cleaned agent, so that no id occurs twice. */
const cleanedFrom = 0x10000000;

const core = join(import.meta.dirname, '..', 'src', 'core');

/** The classes of the core that write, bundled from source. */
async function loadCore(workspace) {
  const entry = workspace.file(
    'core-entry.mjs',
    `export { Journal, spawnedEvent } from '${core}/audit/journal/journal.ts';
export { verifyJournal } from '${core}/audit/journal/verify.ts';
export { RunStore } from '${core}/runs/run-store.ts';
export { RunJournal } from '${core}/runs/end/run-journal.ts';
`
  );
  const file = join(workspace.base, 'core.mjs');
  const build = await rolldown({ input: entry, platform: 'node' });
  await build.write({ file, format: 'esm', codeSplitting: false });
  await build.close();
  return import(pathToFileURL(file).href);
}

/**
 * Writes `count` ended agents of an engine to a workspace; returns whether the
 * chains of the journal are valid.
 * @param cleaned the number of earlier agents, which are only in the journal
 * @param answer the answer of each
 */
export async function writeHistory(
  workspace,
  engine,
  count,
  cleaned = 0,
  answer = 'ok'
) {
  const { Journal, RunJournal, RunStore, verifyJournal, ...make } =
    await loadCore(workspace);
  const state = workspace.record;
  const logs = join(workspace.path, 'logs');
  const heads = join(state, 'heads');
  for (const folder of [state, logs]) mkdirSync(folder, { recursive: true });
  const store = new RunStore(state);
  /** Its entries are as old as the agents. */
  class OldJournal extends Journal {
    at;
    append(event, at = this.at) {
      super.append(event, at);
    }
  }
  const path = join(state, 'iac.jsonl');
  const journal = new OldJournal(path, heads, (text) => text);
  const runJournal = new RunJournal(store, journal);
  const yesterday = Date.now() - 86_400_000;
  noteSizes(state, cleaned);
  for (let index = 0; index < cleaned; index += 1) {
    const at = new Date(yesterday - (count + cleaned - index) * 1000);
    const record = recordOf(cleanedFrom + index, engine, workspace.path, at);
    const words = { chars: 200, text: `Task ${index}: say ok.` };
    journal.append(make.spawnedEvent(record, words), at);
    const { agent_id } = record;
    const result = { chars: 2, text: 'ok' };
    const { status, model, exit_code } = outcomeOf(at);
    journal.append(
      {
        ...{ type: 'finished', agent_id, status, model, exit_code, result },
        ...{ error: null, error_code: null, cost_usd: null, usage: null },
        ...{ duration_ms: 5, completed_at: at.toISOString() }
      },
      at
    );
  }
  for (let index = 0; index < count; index += 1) {
    const at = new Date(yesterday - (count - index) * 1000);
    const record = recordOf(index, engine, workspace.path, at);
    const id = record.agent_id;
    const outcome = outcomeOf(at, answer.length);
    const directory = store.directoryOf(id);
    const prompt = `Task ${index}: say ok. ${'Some words more. '.repeat(10)}`;
    store.create(record, prompt, prompt);
    const words = journal.textOf(prompt, `spawns/${id}/prompt.txt`);
    journal.append(make.spawnedEvent(record, words), at);
    writeFileSync(join(directory, 'claim'), '1 1\n');
    writeFileSync(join(directory, 'stdout'), '{"type":"done","text":"ok"}\n');
    writeFileSync(join(directory, 'exit'), '0\n');
    writeFileSync(join(directory, 'result.txt'), answer);
    store.end(id, outcome);
    store.sizes.note(id);
    journal.at = at;
    await runJournal.recordEnd(record, outcome);
    store.close(id);
  }
  const { faults, records } = await verifyJournal(journal.path, heads);
  return faults.length === 0 && records === 2 * (count + cleaned);
}

/** Writes the size ledger of the cleaned agents. */
function noteSizes(state, cleaned) {
  const lines = ['whole'];
  for (let index = 0; index < cleaned; index += 1) {
    const id = idOf(cleanedFrom + index);
    lines.push(`${id} 20480`, `${id} -20480 2026-01-01T00:00:00.000Z`);
  }
  mkdirSync(join(state, 'counts'));
  writeFileSync(join(state, 'counts', 'sizes'), `\n${lines.join('\n')}\n`);
}

function idOf(index) {
  return (index + 1).toString(16).padStart(8, '0');
}

function recordOf(index, engine, cwd, at) {
  return {
    v: 1,
    agent_id: idOf(index),
    engine,
    label: 'Standin',
    kind: 'cli',
    model: null,
    access: 'full',
    enforcement: 'asked',
    tools: null,
    cwd,
    task: `Task ${index}: say ok.`,
    prompt_chars: 200,
    system_prompt: null,
    timeout_seconds: 300,
    idle_timeout_seconds: 600,
    output_limit_bytes: 268_435_456,
    on_disconnect: 'keep',
    request_id: null,
    created_at: at.toISOString(),
    owner: { pid: 1, start: '1', place: 'bench' },
    parent: null,
    depth: 1,
    continues: null,
    session_id: null
  };
}

function outcomeOf(at, result_chars = 2) {
  return {
    v: 1,
    status: 'completed',
    error: null,
    error_code: null,
    result_file: 'result.txt',
    result_chars,
    exit_code: 0,
    model: null,
    session_id: null,
    usage: null,
    session_usage: null,
    cost_usd: null,
    denials: [],
    started_at: at.toISOString(),
    completed_at: at.toISOString(),
    duration_ms: 5
  };
}
