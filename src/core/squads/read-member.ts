import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../errors.ts';
import { askedChatOf, chatIdOf } from '../runs/chat-id.ts';
import { type Answer, evenShare, type Facts, type Part } from '../runs/fit.ts';
import { endsPart, linePart } from '../runs/parts.ts';
import { errorCut, inlineChars, reachOf } from '../runs/report.ts';
import type { Outcome, Run } from '../runs/run.ts';
import { ofAgent, readWords } from '../runs/words.ts';
import { readEnds, sizeOf } from '../state/text-file.ts';
import { memberStatusOf } from './squad-status.ts';
import type { Squad, SquadMember } from './squad-store.ts';

/** A member in the forms that an answer may have it. */
export interface MemberReport {
  /** With all that it put out. */
  full: Answer;
  /** With its answer; of its output only where it lies. */
  words: Answer;
  /** Where it stands. */
  bare: Answer;
}

export interface MemberSource {
  squad: Squad;
  member: SquadMember;
  /** Undefined when its agent was never recorded. */
  run: Run | undefined;
  /** The agent's folder. */
  directory: string;
  /** Why it has no agent, where that is known. */
  refused?: string | undefined;
}

/** Members that are read at once. */
const batch = 16;

/**
 * What members have to say, read once, and of each no more than an answer
 * with all of them has room for.
 */
export async function readMembers(
  sources: MemberSource[]
): Promise<MemberReport[]> {
  const runs = sources.flatMap(({ run }) => run ?? []);
  const reach = { words: reachOf(runs), all: reachOfAll(sources) };
  const reports: MemberReport[] = [];
  for (let from = 0; from < sources.length; from += batch) {
    const some = sources.slice(from, from + batch);
    const read = some.map((source) => readMember(source, reach));
    reports.push(...(await Promise.all(read)));
  }
  return reports;
}

/** No character, as we count them, takes more bytes of UTF-8. */
const longestCharacter = 3;

/** Of all texts, the characters that a long one may have. */
function reachOfAll(sources: MemberSource[]): number {
  const needs = sources.flatMap(({ run, directory }) =>
    run?.outcome
      ? [
          run.outcome.result_chars,
          ...['stdout', 'stderr'].map(
            (name) => sizeOf(join(directory, name)) / longestCharacter
          )
        ]
      : []
  );
  return Math.min(inlineChars, evenShare(needs, inlineChars));
}

async function readMember(
  source: MemberSource,
  reach: { words: number; all: number }
): Promise<MemberReport> {
  const { squad, member, run, directory, refused } = source;
  const status = run ? memberStatusOf(run, directory) : 'error';
  const head = {
    memberId: member.memberId,
    roleId: member.roleId,
    cwd: member.cwd,
    status
  };
  const tail = {
    ...(squad.stateMode === 'stateful' ? chatFacts(run) : {}),
    agentId: member.agentId
  };
  const bare: Answer = () => ({ ...head, ...tail });
  if (!run?.outcome) {
    const error = run
      ? {}
      : { error: refused ?? 'It was never started: spawn it again.' };
    const told = () => ({ ...head, ...nothing, ...tail, ...error });
    return { full: told, words: told, bare };
  }
  const { outcome } = run;
  const words = await readWords(directory, outcome, { reach: reach.words });
  const stdout = await rawPart(
    'rawStdout',
    join(directory, 'stdout'),
    reach.all
  );
  const stderr = await rawPart(
    'rawStderr',
    join(directory, 'stderr'),
    reach.all
  );
  const output = [stdout, stderr, words.filed('result')];
  const error = (told: Parameters<Answer>[0]) => errorOf(outcome, told);
  return {
    full: (told) => ({
      ...head,
      ...ofAgent,
      ...Object.assign({}, ...output.map((part) => told(part))),
      ...tail,
      ...error(told)
    }),
    words: (told) => ({
      ...head,
      ...ofAgent,
      ...told(words.short('result')),
      ...tail,
      ...error(told)
    }),
    bare
  };
}

const nothing = { rawStdout: '', rawStderr: '', result: '' };

/** Where it can go on; some CLIs take any other id for a new chat. */
function chatFacts(run: Run | undefined): Facts {
  if (!run) return { chatId: null };
  const chatId = chatIdOf(run);
  const asked = askedChatOf(run.record);
  if (chatId === null || chatId === asked) return { chatId };
  if (asked !== null) return { chatId, message: elsewhere(asked) };
  const isWhole = run.outcome?.status === 'completed';
  return isWhole ? { chatId } : { chatId, message: badStart };
}

const badStart =
  "The chat's first turn failed or was stopped: it may not know its role. For a new chat, leave chatId out.";

function elsewhere(asked: string): string {
  return `It did not go on in the chat "${asked}": chatId is another one, where it may not know its role. For a new chat, leave chatId out.`;
}

function errorOf(
  { error, error_code }: Outcome,
  told: Parameters<Answer>[0]
): Facts {
  if (error === null) return {};
  return { error_code, ...told(linePart('error', error, errorCut)) };
}

/** A file's text, verbatim; cut, it says how much there is and where. */
async function rawPart(
  name: string,
  path: string,
  reach: number
): Promise<Part> {
  const none = { chars: 0, within: () => ({ [name]: '' }) };
  if (!existsSync(path)) return none;
  const bytes = sizeOf(path);
  const ends = await readEnds(path, reach, reach, bytes).catch(
    (error: unknown) => {
      // Cleaned away just now.
      if (errnoOf(error) !== 'ENOENT') throw error;
    }
  );
  if (!ends) return none;
  return endsPart(name, ends, {
    mark: '\n\n… [cut] …\n\n',
    tell: () => ({
      truncated: true,
      [`${name}_bytes`]: bytes,
      [`${name}_path`]: path
    })
  });
}
