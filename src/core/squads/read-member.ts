import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer, Facts, Part } from '../runs/fit.ts';
import { endsPart, linePart } from '../runs/parts.ts';
import { errorCut, inlineChars } from '../runs/report.ts';
import type { Outcome, Run } from '../runs/run.ts';
import { readWords } from '../runs/words.ts';
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

/** What a member has to say, read once. */
export async function readMember(source: MemberSource): Promise<MemberReport> {
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
  const words = await readWords(directory, outcome, { reach: inlineChars });
  const outputs = [
    await rawPart('rawStdout', join(directory, 'stdout')),
    await rawPart('rawStderr', join(directory, 'stderr'))
  ];
  const error = (told: Parameters<Answer>[0]) => errorOf(outcome, told);
  return {
    full: (told) => ({
      ...head,
      ...Object.assign({}, ...outputs.map((part) => told(part))),
      ...told(words.filed('result')),
      ...tail,
      ...error(told)
    }),
    words: (told) => ({
      ...head,
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
  const { agent_id, session_id, kind } = run.record;
  // The chat of an API is named after its first agent.
  const asked = session_id === agent_id ? null : session_id;
  const seen = run.outcome?.session_id ?? null;
  // It has begun with an answer only.
  const begun = kind === 'api' ? null : seen;
  if (run.outcome?.status !== 'completed') return { chatId: asked ?? begun };
  if (seen === null || asked === null || seen === asked)
    return { chatId: seen ?? asked };
  return { chatId: seen, message: elsewhere(asked) };
}

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
async function rawPart(name: string, path: string): Promise<Part> {
  if (!existsSync(path)) return { chars: 0, within: () => ({ [name]: '' }) };
  const bytes = sizeOf(path);
  const ends = await readEnds(path, inlineChars, inlineChars, bytes);
  return endsPart(name, ends, {
    mark: '\n\n… [cut] …\n\n',
    tell: () => ({
      truncated: true,
      [`${name}_bytes`]: bytes,
      [`${name}_path`]: path
    })
  });
}
