import { join } from 'node:path';
import { withAsking } from '../../../answers/asks.ts';
import { changesOf, patchOf } from '../../../core/changes/change-file.ts';
import type { Outcome, Run, RunRecord } from '../../../core/runs/run.ts';
import { noteRead, ownFile, wasRead } from '../../../core/runs/run-files.ts';
import {
  hasSessions,
  unknownAgent
} from '../../../core/runs/start/continue-run.ts';
import { sizeOf } from '../../../core/state/files/text-file.ts';
import { shortName, terminalLine, visibleText } from '../../../core/text.ts';
import type { Host } from '../../../host/host.ts';
import { RunOutput } from '../../board/run-output.ts';
import { watchedRun } from '../../board/watched-agent.ts';
import { mostStepChars } from '../live/agent-topic.ts';
import { askRow, boardRow } from '../live/board-rows.ts';
import { invalidInput } from '../reply.ts';
import { readPart, type TextPart } from './text-part.ts';

/** The most characters of an error or a denied action. */
const mostChars = 20_000;
/** The most ended agents that are searched for those that belong together. */
const mostRelatives = 500;
/** Steps of a longer output are not read again after the end. */
const mostStepBytes = 16 * 1024 * 1024;

/** All facts about one agent. Long texts are read by `textOf`. */
export async function agentData(host: Host, id: string) {
  const run = withAsking(await runOf(host, id), host);
  const { record, outcome } = run;
  const directory = host.store.directoryOf(id);
  const row = boardRow(host, await watchedRun(host, run));
  return {
    ...row,
    label: terminalLine(record.label),
    enforcement: record.enforcement,
    tools: record.tools === null ? null : long(record.tools),
    cwd: long(record.cwd),
    worktree: record.worktree
      ? {
          path: long(record.worktree.path),
          branch: long(record.worktree.branch)
        }
      : null,
    prompt_chars: record.prompt_chars,
    system_prompt:
      record.system_prompt === null ? null : long(record.system_prompt),
    timeout_seconds: record.timeout_seconds,
    depth: record.depth,
    ...(outcome ? endOf(outcome) : {}),
    is_read: wasRead(directory),
    changes: changesIn(directory),
    relatives: relativesOf(host, run),
    asks: host.asks.open([record]).map(askRow),
    continue_refusal: whyNoContinue(host, run),
    alike_refusal: whyNoAlike(record),
    stdout_bytes: sizeOf(join(directory, 'stdout')),
    stderr_bytes: sizeOf(join(directory, 'stderr'))
  };
}

function endOf(outcome: Outcome) {
  return {
    error: outcome.error === null ? null : long(outcome.error),
    exit_code: outcome.exit_code,
    usage: outcome.usage,
    denials: outcome.denials.slice(0, 100).map(long),
    session_id: outcome.session_id === null ? null : long(outcome.session_id),
    started_at: outcome.started_at,
    answer_chars: outcome.result_chars
  };
}

function changesIn(directory: string) {
  const changes = changesOf(directory);
  if (!changes) return null;
  const { files, total, note, patch } = changes;
  return {
    files: files?.map((file) => ({ ...file, path: visibleText(file.path) })),
    total: total ?? null,
    note: note === undefined ? null : long(note),
    patch_bytes: patch === null ? 0 : sizeOf(patchOf(directory))
  };
}

/** Parent, children and the chain of continued agents, by id. */
function relativesOf(host: Host, { record }: Run) {
  const { store } = host;
  const { agent_id: id, parent, continues } = record;
  const known = [
    ...new Set([
      ...[parent, continues].filter((one) => one !== null),
      ...store.openIds(),
      ...host.recent(mostRelatives)
    ])
  ];
  const found = known.flatMap((one) => {
    const other = one === id ? undefined : store.recordOf(one);
    if (!other) return [];
    const relation =
      other.parent === id
        ? 'child'
        : other.continues === id
          ? 'continued_by'
          : one === parent
            ? 'parent'
            : one === continues
              ? 'continues'
              : undefined;
    return relation === undefined
      ? []
      : [
          {
            relation,
            agent_id: one,
            engine: other.engine,
            task: terminalLine(other.task)
          }
        ];
  });
  return found.slice(0, 100);
}

/** Why a person cannot send this agent another prompt; null if they can. */
function whyNoContinue({ registry }: Host, { record, outcome, status }: Run) {
  if (!outcome) return `It is ${status}.`;
  const engine = registry.all().find(({ name }) => name === record.engine);
  if (!engine) return `The engine ${record.engine} is not configured.`;
  if (record.template !== undefined) return 'It came from a template.';
  if (!hasSessions(engine) || outcome.session_id === null)
    return 'It left no session to continue.';
  return null;
}

/** Why no agent like this one can be started alone; null if one can. */
export function whyNoAlike({ template, program }: RunRecord): string | null {
  if (template !== undefined) return 'It came from a template.';
  return program === undefined ? null : 'It ran a program of the squads.';
}

export const parts = ['prompt', 'answer', 'stdout', 'stderr', 'patch'] as const;

export type PartName = (typeof parts)[number];

/** @throws HostError `unknown_agent`, `invalid_input` */
export async function textOf(
  host: Host,
  id: string,
  part: PartName,
  offset: number,
  isExact = false
): Promise<TextPart> {
  const { outcome } = await runOf(host, id);
  const directory = host.store.directoryOf(id);
  const files: Record<PartName, string | undefined> = {
    prompt: join(directory, 'prompt.txt'),
    answer: outcome && ownFile(directory, outcome.result_file),
    stdout: join(directory, 'stdout'),
    stderr: join(directory, 'stderr'),
    patch: patchOf(directory)
  };
  const path = files[part];
  const text =
    path === undefined ? undefined : readPart(path, offset, { isExact });
  if (text) return text;
  if (part === 'answer' && !outcome)
    throw invalidInput(
      `${id} has not ended.`,
      'Its text so far is on its page.'
    );
  return { text: '', offset: 0, next_offset: null, total_bytes: 0 };
}

/** The steps of an agent, as its engine reports them; null if too long. */
export async function stepsOf(host: Host, id: string) {
  const { record } = await runOf(host, id);
  const directory = host.store.directoryOf(id);
  if (sizeOf(join(directory, 'stdout')) > mostStepBytes)
    return { steps: null, dropped: 0 };
  const output = new RunOutput(record, directory, host.registry);
  const { steps, dropped } = await output.read();
  return {
    steps: steps.map((step) => shortName(step, mostStepChars)),
    dropped
  };
}

/** A person has opened the answer: `troupe clean` may remove the agent. */
export async function markRead(host: Host, id: string) {
  const { outcome } = await runOf(host, id);
  if (outcome) noteRead(id, host.store);
  return { agent_id: id, is_read: outcome !== undefined };
}

/** @throws HostError `unknown_agent` */
export async function runOf(host: Host, id: string): Promise<Run> {
  const run = await host.tracker.run(id);
  if (!run) throw unknownAgent(id, host.store);
  return run;
}

function long(text: string): string {
  return visibleText(text.slice(0, mostChars));
}
