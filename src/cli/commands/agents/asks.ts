import type { Command } from 'commander';
import { answeredFacts } from '../../../answers/asks.ts';
import type {
  AnswerRequest,
  OpenAsk
} from '../../../core/asks/answers/asks.ts';
import type { Host } from '../../../host/host.ts';
import {
  type AnswerDocument,
  type AsksDocument,
  asksDocument
} from '../../json/agent-documents.ts';
import { asksJson, describeAsk } from '../../output/asks.ts';
import { print, printJson, report } from '../../output/output.ts';
import {
  addWorkspaceFlags,
  exitAfter,
  exitCodes,
  type WorkspaceFlags
} from '../command-options.ts';

export function addAsks(program: Command): void {
  addWorkspaceFlags(
    program
      .command('asks')
      .description('what agents ask for, and wait to be answered')
      .option('--json', 'print JSON'),
    ['troupe asks', 'troupe asks --json']
  ).action(async (flags: WorkspaceFlags) =>
    exitAfter(flags, (host) => showAsks(host, flags))
  );
  addWorkspaceFlags(
    program
      .command('answer')
      .description('answer an agent that asks, once')
      .argument('<ask>', 'its id; see: troupe asks')
      .argument('<words...>', 'allow or deny, with a reason; or a text')
      .option('--json', 'print JSON'),
    [
      'troupe answer 1a2b3c4d-1 allow',
      'troupe answer 1a2b3c4d-1 deny "use the file tools"',
      'troupe answer 1a2b3c4d-2 "take the second one"'
    ]
  ).action(async (id: string, words: string[], flags: WorkspaceFlags) =>
    exitAfter(flags, (host) => answer(host, id, words, flags))
  );
}

/** The open asks of the workspace, oldest first. */
async function openAsks(host: Host): Promise<OpenAsk[]> {
  const active = await host.tracker.active();
  return host.asks.open(active.map(({ record }) => record));
}

async function showAsks(host: Host, { json }: WorkspaceFlags): Promise<number> {
  const asks = await openAsks(host);
  if (json) {
    const { asks: rows = [] } = asksJson(asks);
    await printJson<AsksDocument>(asksDocument.parse(rows));
    return exitCodes.done;
  }
  if (asks.length === 0) report('No agent asks for anything.');
  for (const one of asks) await print(`${describeAsk(one)}\n`);
  return exitCodes.done;
}

async function answer(
  host: Host,
  askId: string,
  words: string[],
  { json }: WorkspaceFlags
): Promise<number> {
  const [first = '', ...rest] = words;
  const reason = rest.join(' ');
  const isDecision = first === 'allow' || first === 'deny';
  const given: Omit<AnswerRequest, 'askId'> =
    isDecision && host.asks.kindOf(askId) === 'permission'
      ? { decision: first, text: reason === '' ? undefined : reason }
      : { text: words.join(' ') };
  const answered = host.asks.answer({ askId, ...given }, 'command line');
  if (json) await printJson<AnswerDocument>(answeredFacts(answered));
  else await print(`${askId} is answered.\n`);
  return exitCodes.done;
}
