import { existsSync, readdirSync, statSync } from 'node:fs';
import { fileIn } from '../paths/paths.ts';
import { createOnce, readIfExists } from '../state/files/atomic-file.ts';
import { ensureDirectory, lstatIfExists } from '../state/files/directories.ts';
import { type Ask, type AskAnswer, parseAnswer, parseAsk } from './ask.ts';

/**
 * The folder `asks` of an agent: `<n>.json` is an ask, `<n>.answer` its end.
 * Answers, the time limit and the end of the run race for the latter, which is
 * created once, so that exactly one of them decides.
 */
const folderName = 'asks';

/** The file with the settings of the run's bridge, in that folder. */
export const askSettingsFile = 'bridge';

/** Created before the start, so that its time of change is always readable. */
export function createAskFolder(directory: string): void {
  ensureDirectory(askFolder(directory));
}

export function askFolder(directory: string): string {
  return fileIn(directory, folderName);
}

/** A file in the folder of a run's asks. */
export function askFile(directory: string, name: string): string {
  return fileIn(askFolder(directory), name);
}

/** Writes an ask under the next free number, and returns its id. */
export function createAsk(
  directory: string,
  ask: Omit<Ask, 'v' | 'ask_id'>
): Ask {
  for (let n = numbersIn(directory).length + 1; ; n += 1) {
    const whole: Ask = { v: 1, ask_id: `${ask.agent_id}-${n}`, ...ask };
    if (createOnce(askFile(directory, `${n}.json`), toText(whole)))
      return whole;
  }
}

/** Decides an ask. Returns false if it is decided already. */
export function decide(
  directory: string,
  { ask_id: id }: Pick<Ask, 'ask_id'>,
  answer: Omit<AskAnswer, 'v' | 'at'>
): boolean {
  const at = new Date().toISOString();
  const path = askFile(directory, `${numberIn(id)}.answer`);
  return createOnce(path, toText({ v: 1, ...answer, at }));
}

/**
 * How an ask was decided; undefined while it is open. A file that is no answer,
 * a folder or a link counts as a refusal.
 */
export function answerTo(
  directory: string,
  { ask_id: id, asked_at: at }: Pick<Ask, 'ask_id' | 'asked_at'>
): AskAnswer | undefined {
  const path = askFile(directory, `${numberIn(id)}.answer`);
  // A read that fails costs memory, and bridges look twenty times a second.
  const entry = lstatIfExists(path);
  if (!entry) return undefined;
  const text = entry.isFile() ? readIfExists(path) : '';
  if (text === undefined) return undefined;
  const refused = { decision: 'deny', text: null, by: 'asker_gone' } as const;
  return parseAnswer(text) ?? { v: 1, ...refused, at };
}

/** The ask with this id, if it is one of the agent with this folder. */
export function askIn(
  directory: string,
  agentId: string,
  id: string
): Ask | undefined {
  const text = readIfExists(askFile(directory, `${numberIn(id)}.json`));
  const ask = text === undefined ? undefined : parseAsk(text);
  return ask?.ask_id === id && ask.agent_id === agentId ? ask : undefined;
}

/** All asks of a run, oldest first. */
export function asksIn(directory: string, agentId: string): Ask[] {
  return numbersIn(directory).flatMap(
    (n) => askIn(directory, agentId, `${agentId}-${n}`) ?? []
  );
}

/** The asks of a run that are not decided, oldest first. */
export function openAsksIn(directory: string, agentId: string): Ask[] {
  return numbersIn(directory)
    .filter((n) => !lstatIfExists(askFile(directory, `${n}.answer`)))
    .flatMap((n) => askIn(directory, agentId, `${agentId}-${n}`) ?? []);
}

/** Changes whenever an ask of the run is written or decided. */
export function askStamp(directory: string): number {
  const path = fileIn(directory, folderName);
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** `3` of `1a2b3c4d-3`; empty for text of another form. */
export function numberIn(id: string): string {
  return /^[0-9a-f]{8}-([1-9]\d{0,8})$/.exec(id)?.[1] ?? '';
}

/** The agent of an ask; undefined for text that is no id of an ask. */
export function agentOfAsk(id: string): string | undefined {
  return numberIn(id) === '' ? undefined : id.slice(0, 8);
}

function numbersIn(directory: string): number[] {
  const path = fileIn(directory, folderName);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .flatMap((name) => {
      const [, n] = /^([1-9]\d{0,8})\.json$/.exec(name) ?? [];
      return n === undefined ? [] : [Number(n)];
    })
    .sort((a, b) => a - b);
}

function toText(value: Ask | AskAnswer): string {
  return `${JSON.stringify(value)}\n`;
}
