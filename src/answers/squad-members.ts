import { join } from 'node:path';
import { errnoOf } from '../core/errors.ts';
import { askedChatOf, chatIdOf, type Run } from '../core/runs/run.ts';
import {
  memberStatusOf,
  type Squad,
  type SquadMember
} from '../core/squads/squad-store.ts';
import { readEnds, sizeOf } from '../core/state/files/text-file.ts';
import { type Answer, evenShare, type Facts, type Part } from './budget.ts';
import { errorCut, inlineChars, reachOf } from './format-run.ts';
import { ofAgent, readWords } from './read-output.ts';
import { endsPart, linePart } from './truncate.ts';

/** The forms of an answer about a member, from the longest to the shortest. */
export interface MemberReport {
  /** The status, the result, stdout and stderr. */
  full: Answer;
  /** The status and the result. */
  words: Answer;
  /** The status. */
  bare: Answer;
}

export interface MemberSource {
  squad: Squad;
  member: SquadMember;
  /** Undefined if the member's agent was never recorded. */
  run: Run | undefined;
  /** The agent's folder. */
  directory: string;
  /** Why the member has no agent, if known. */
  refused?: string | undefined;
}

/** Members read concurrently. */
const batch = 16;

/** UTF-8 takes at most this many bytes for each UTF-16 character. */
const maxCharBytes = 3;

/** Reads no more of each member than an answer with all of them can hold. */
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

/** Like `reachOf`, for an answer with stdout and stderr of each member. */
function reachOfAll(sources: MemberSource[]): number {
  const needs = sources.flatMap(({ run, directory }) =>
    run?.outcome
      ? [
          run.outcome.result_chars,
          ...['stdout', 'stderr'].map(
            (name) => sizeOf(join(directory, name)) / maxCharBytes
          )
        ]
      : []
  );
  return Math.min(inlineChars, evenShare(needs, inlineChars));
}

async function readMember(
  { squad, member, run, directory, refused }: MemberSource,
  reach: { words: number; all: number }
): Promise<MemberReport> {
  const head = {
    memberId: member.memberId,
    roleId: member.roleId,
    cwd: member.cwd,
    status: run ? memberStatusOf(run, directory) : 'error'
  };
  const tail = {
    ...(squad.stateMode === 'stateful' ? chatFacts(run) : {}),
    agentId: member.agentId
  };
  const bare = () => ({ ...head, ...tail });
  if (!run?.outcome) {
    const output = { rawStdout: '', rawStderr: '', result: '' };
    const error = run
      ? {}
      : { error: refused ?? 'It was never started: spawn it again.' };
    const answer = () => ({ ...head, ...output, ...tail, ...error });
    return { full: answer, words: answer, bare };
  }
  const { error, error_code } = run.outcome;
  const words = await readWords(directory, run.outcome, { reach: reach.words });
  const raw = (name: string, file: string) =>
    rawPart(name, join(directory, file), reach.all);
  const stdout = await raw('rawStdout', 'stdout');
  const stderr = await raw('rawStderr', 'stderr');
  const answer =
    (...output: Part[]): Answer =>
    (put) => ({
      ...head,
      ...ofAgent,
      ...Object.assign({}, ...output.map(put)),
      ...tail,
      ...(error === null
        ? {}
        : { error_code, ...put(linePart('error', error, errorCut)) })
    });
  return {
    full: answer(stdout, stderr, words.filed('result')),
    words: answer(words.short('result')),
    bare
  };
}

/** The chat to continue; some CLIs start a new one for an unknown id. */
function chatFacts(run: Run | undefined): Facts {
  if (!run) return { chatId: null };
  const chatId = chatIdOf(run);
  const asked = askedChatOf(run.record);
  if (chatId === null || chatId === asked) return { chatId };
  if (asked !== null) return { chatId, message: otherChat(asked) };
  const isWhole = run.outcome?.status === 'completed';
  return isWhole ? { chatId } : { chatId, message: badStart };
}

const badStart =
  "The chat's first turn failed or was stopped: it may not know its role. For a new chat, leave chatId out.";

function otherChat(asked: string): string {
  return `It did not continue the chat "${asked}": chatId is another one, where it may not know its role. For a new chat, leave chatId out.`;
}

/**
 * The text of a file, verbatim; empty when it does not exist. A cut text comes
 * with size and path.
 */
async function rawPart(
  name: string,
  path: string,
  reach: number
): Promise<Part> {
  const bytes = sizeOf(path);
  const ends = await readEnds(path, reach, reach, bytes).catch(
    (error: unknown) => {
      // A cleanup may have removed the file.
      if (errnoOf(error) !== 'ENOENT') throw error;
    }
  );
  if (!ends) return { chars: 0, within: () => ({ [name]: '' }) };
  return endsPart(name, ends, {
    mark: '\n\n… [cut] …\n\n',
    fields: () => ({
      truncated: true,
      [`${name}_bytes`]: bytes,
      [`${name}_path`]: path
    })
  });
}
