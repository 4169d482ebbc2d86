import { statSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { keyFileName, readyEngineNames } from '../engines/api/api-keys.ts';
import { HostError } from '../errors.ts';
import { resolveInside } from '../runs/admission/containment.ts';
import type { ProgramDependencies } from '../runs/program.ts';
import type { Spawned, SpawnRequest } from '../runs/spawn-request.ts';
import { ownReadFlags, readRegular } from '../state/files/regular-file.ts';
import { tailOf } from '../state/files/text-file.ts';

/** The number of engines if the caller names none. */
const usualCount = 3;

/**
 * The engines to ask: the named ones, or else the first ready ones. APIs
 * precede CLIs, and the engine of the calling client comes last.
 * @throws HostError `unknown_engine`; `no_engine` when none is ready
 */
export function chooseExperts(
  named: string[] | undefined,
  clientName: string,
  { registry, processes, keys }: ProgramDependencies
): string[] {
  if (named) return [...new Set(named)].map((name) => registry.get(name).name);
  const rank = (name: string): number => {
    if (clientName.toLowerCase().includes(name)) return 2;
    return registry.get(name).kind === 'api' ? 0 : 1;
  };
  const ready = readyEngineNames(registry, processes, keys)
    .map((name) => ({ name, rank: rank(name) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ name }) => name);
  if (ready.length > 0) return ready.slice(0, usualCount);
  throw new HostError(
    'no_engine',
    'No engine is ready to be asked: no program is installed and no key is set.',
    'Run "troupe doctor" to see what is missing, or put a key into api_keys.json.'
  );
}

/** The agents that were asked, and the errors of engines that were not. */
interface Asked {
  engines: string[];
  ids: string[];
  refusals: string[];
}

interface Question extends Omit<SpawnRequest, 'engine' | 'access' | 'prompt'> {
  text: string;
  /** Paths of files in the workspace, which every engine gets whole. */
  files: string[];
  /** Default: the ready ones, as `chooseExperts` ranks them. */
  engines: string[] | undefined;
  clientName: string;
}

interface OpinionDependencies extends ProgramDependencies {
  config: { workspace: string };
  spawn: (request: SpawnRequest) => Promise<Spawned>;
}

/**
 * Starts a read-only agent for each engine.
 * @throws HostError as `chooseExperts` and `readContextFiles`; the first error,
 *   if no agent starts
 */
export async function askEngines(
  { text, files, engines: named, clientName, ...more }: Question,
  host: OpinionDependencies
): Promise<Asked> {
  const engines = chooseExperts(named, clientName, host);
  const context = readContextFiles(host.config.workspace, files);
  const prompt = questionPrompt(text, context);
  const asked = await Promise.allSettled(
    engines.map((engine) =>
      host.spawn({ ...more, prompt, engine, access: 'read' })
    )
  );
  const ids = asked.flatMap((one) =>
    one.status === 'fulfilled' ? one.value.record.agent_id : []
  );
  const reasons = asked.flatMap((one) =>
    one.status === 'rejected' ? [one.reason] : []
  );
  if (ids.length === 0) throw reasons[0];
  return { engines, ids, refusals: reasons.map(refusalOf) };
}

/**
 * The message of an error, such as a full disk, that kept one agent from
 * starting.
 * @throws the reason, if it is not a HostError
 */
function refusalOf(reason: unknown): string {
  if (reason instanceof HostError) return `${reason.message} ${reason.hint}`;
  throw reason;
}

/** Bytes at the end of an answer that are searched for the verdict. */
const endBytes = 64 * 1024;

/** The verdict in a file with an answer. */
export function verdictIn(path: string): string | null {
  return verdictOf(tailOf(path, endBytes));
}

interface ContextFile {
  /** Relative to the workspace. */
  path: string;
  text: string;
}

/** The limit for all files of one question together. */
const maximumBytes = 400_000;

/**
 * Reads the files for a question, whole and each once.
 * @throws HostError `invalid_input` for a file that is missing, is outside the
 *   workspace, holds keys, is not text, or exceeds the limit
 */
export function readContextFiles(
  workspace: string,
  paths: string[]
): ContextFile[] {
  const files = new Map<string, ContextFile>();
  let room = maximumBytes;
  for (const requested of paths) {
    const file = resolveInside(workspace, requested);
    const stat =
      file === undefined
        ? undefined
        : statSync(file, { throwIfNoEntry: false });
    if (file === undefined || !stat?.isFile())
      throw refusal(requested, 'is not a file inside the workspace');
    if (basename(file).toLowerCase() === keyFileName)
      throw refusal(requested, 'holds keys, which are never passed on');
    if (files.has(file)) continue;
    room -= stat.size;
    if (room < 0)
      throw refusal(
        requested,
        `is too much: ${maximumBytes} bytes for all files`
      );
    const text = decoded(file);
    if (text === undefined) throw refusal(requested, 'is not UTF-8 text');
    files.set(file, { path: relative(workspace, file), text });
  }
  return [...files.values()];
}

function decoded(file: string): string | undefined {
  try {
    // The path contains no links, so a link means that the file was replaced.
    const bytes = readRegular(file, ownReadFlags);
    if (bytes.includes(0)) return undefined;
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function refusal(path: string, why: string): HostError {
  return new HostError(
    'invalid_input',
    `context_files: "${path}" ${why}.`,
    'Give paths of text files relative to the workspace, or quote what matters in the question.'
  );
}

/** The same prompt for every engine, so that their answers can be compared. */
export function questionPrompt(question: string, files: ContextFile[]): string {
  return [
    // First, because `list` and the log show the first line of a prompt.
    question,
    ...(files.length === 0 ? [] : ['# Context', ...files.map(quoted)]),
    '# How to answer',
    [
      'Form your own judgement; others are asked the same. Change nothing.',
      'Give your reasons, say how sure you are, and name what would change',
      'your mind. End with one line of this form and nothing after it:'
    ].join('\n'),
    'VERDICT: <your answer in one sentence>'
  ].join('\n\n');
}

/** The last verdict line of an answer, without markup. */
export function verdictOf(answer: string): string | null {
  const lines = answer.split('\n').reverse();
  for (const line of lines) {
    const [, before = '', after = '', words] = verdictLine.exec(line) ?? [];
    if (words) return shortened(unmarked(words.trim(), before + after));
  }
  return null;
}

const verdictLine =
  /^([\s>*_#`-]{0,20}verdict[*_`]{0,4})\s{0,10}[:：]([*_`]{0,4})\s*(\S.*)$/is;

/** A longer verdict is truncated; the answer contains all of it. */
const verdictChars = 1000;

function shortened(verdict: string): string {
  return verdict.length > verdictChars
    ? `${verdict.slice(0, verdictChars - 1)}…`
    : verdict;
}

/** Removes closing markup, such as `**`, that was opened before the words. */
function unmarked(words: string, before: string): string {
  const [mark] = /([*_`])\1{0,3}$/.exec(words) ?? [];
  if (mark === undefined || mark === words) return words;
  const inner = words.slice(0, -mark.length);
  // An odd number of marks before the words: the last one is still open.
  if (before.split(mark).length % 2 === 0)
    return unmarked(inner.trimEnd(), before.replace(mark, ''));
  const own = inner.slice(mark.length);
  return inner.startsWith(mark) && !/_/.test(mark) && !own.includes(mark)
    ? own
    : words;
}

function quoted({ path, text }: ContextFile): string {
  const longest = [...text.matchAll(/`{3,}/g)].map(([run]) => run.length);
  const fence = '`'.repeat(Math.max(3, ...longest.map((length) => length + 1)));
  const end = text.endsWith('\n') ? '' : '\n';
  return `## ${path}\n\n${fence}\n${text}${end}${fence}`;
}
