import type { IncomingMessage, ServerResponse } from 'node:http';
import { visibleText } from '../../core/text.ts';
import type { Host } from '../../host/host.ts';
import { version } from '../../host/package.ts';
import {
  answerAsk,
  askData,
  cancelAgent,
  continueAgent,
  spawnAlike
} from './actions.ts';
import {
  agentData,
  markRead,
  type PartName,
  parts,
  stepsOf,
  textOf
} from './data/agent-data.ts';
import { councilData, squadsData, workersData } from './data/group-data.ts';
import { auditData, spendData, verifyData } from './data/journal-data.ts';
import { turnsData } from './data/turn-data.ts';
import {
  cancelTask,
  respond,
  sendTask,
  stopWorker,
  summonAgent
} from './group-actions.ts';
import { streamEvents } from './live/event-stream.ts';
import type { Live } from './live/live.ts';
import type { Scope } from './logins.ts';
import { invalidInput } from './reply.ts';

export interface Call {
  host: Host;
  live: Live;
  scope: Scope;
  request: IncomingMessage;
  response: ServerResponse;
  /** The parts of the path that its route leaves open. */
  names: string[];
  query: URLSearchParams;
  /** Of a POST. */
  body: unknown;
  ending: AbortSignal;
}

interface Route {
  method: 'GET' | 'POST';
  path: RegExp;
  /** What it takes to call it. */
  scope: Scope;
  /** Undefined when it has sent its answer by itself. */
  answer: (call: Call) => unknown;
}

const get = (path: RegExp, answer: Route['answer']): Route => {
  return { method: 'GET', path, scope: 'look', answer };
};

/** An action; the board is read again after it. */
const act = (path: RegExp, perform: Route['answer']): Route => {
  const answer = async (call: Call) => {
    try {
      return await perform(call);
    } finally {
      call.live.hurry();
    }
  };
  return { method: 'POST', path, scope: 'act', answer };
};

const agent = '([0-9a-f]{8})';
const ask = '([0-9a-f]{8}-\\d{1,9})';
const at = (path: string) => new RegExp(`^/web/${path}$`);

const ofWorker = (
  name: string,
  perform: (host: Host, id: string, body: unknown) => unknown
) =>
  act(at(`workers/${agent}/${name}`), ({ host, live, names, body }) => {
    live.ownWorkers();
    return perform(host, names[0] ?? '', body);
  });

/** Everything below `/web/` that takes a token. */
export const routes: Route[] = [
  get(at('about'), ({ host, scope }) => aboutOf(host, scope)),
  get(at('events'), ({ live, request, response, query, ending }) =>
    streamEvents(live, request, response, { query, ending })
  ),
  get(at(`agents/${agent}`), ({ host, names: [id = ''] }) =>
    agentData(host, id)
  ),
  get(at(`agents/${agent}/text`), ({ host, names: [id = ''], query }) =>
    textOf(host, id, partIn(query), offsetIn(query), query.has('exact'))
  ),
  get(at(`agents/${agent}/diff`), ({ host, names: [id = ''], query }) =>
    textOf(host, id, 'patch', offsetIn(query))
  ),
  get(at(`agents/${agent}/steps`), ({ host, names: [id = ''] }) =>
    stepsOf(host, id)
  ),
  get(at(`agents/${agent}/turns`), ({ host, names: [id = ''], query }) =>
    turnsData(host, id, {
      before: query.has('before') ? count(query, 'before') : undefined,
      from: query.has('from') ? count(query, 'from') : undefined
    })
  ),
  get(at(`asks/${ask}`), async ({ host, names: [id = ''] }) => {
    const { ask } = await askData(host, id);
    const [text = ''] = Object.values(ask.subject);
    return { ask_id: id, subject: visibleText(text) };
  }),
  get(at('squads'), ({ host }) => squadsData(host)),
  get(at('council'), ({ host }) => councilData(host)),
  get(at('workers'), ({ host }) => workersData(host)),
  get(at('audit'), ({ host, query }) =>
    auditData(host, query.has('before') ? count(query, 'before') : undefined)
  ),
  get(at('audit/verify'), ({ host }) => verifyData(host)),
  get(at('spend'), ({ host, query }) =>
    spendData(host, Math.min(366, Math.max(1, count(query, 'days', 30))))
  ),
  act(at('agents'), ({ host, live, body }) => {
    live.own();
    return spawnAlike(host, body);
  }),
  act(at(`agents/${agent}/cancel`), ({ host, names: [id = ''], body }) =>
    cancelAgent(host, id, body)
  ),
  act(at(`agents/${agent}/continue`), ({ host, live, names, body }) => {
    live.own();
    return continueAgent(host, names[0] ?? '', body);
  }),
  act(at(`agents/${agent}/read`), ({ host, names: [id = ''] }) =>
    markRead(host, id)
  ),
  ofWorker('tasks', sendTask),
  ofWorker('cancel', cancelTask),
  ofWorker('stop', stopWorker),
  act(at('council/respond'), ({ host, body }) => respond(host, body)),
  act(at('council/summon'), ({ host, live, body }) => {
    live.own();
    return summonAgent(host, body);
  }),
  act(at(`asks/${ask}/answer`), ({ host, names: [id = ''], body }) =>
    answerAsk(host, id, body)
  )
];

function aboutOf({ config }: Host, scope: Scope) {
  return {
    version,
    scope,
    workspace: visibleText(config.workspace),
    max_access: config.maxAccess,
    max_concurrent: config.maxConcurrent
  };
}

function partIn(query: URLSearchParams): PartName {
  const name = query.get('part');
  const part = parts.find((one) => one === name);
  if (part) return part;
  throw invalidInput(
    'There is no such part of an agent.',
    `Ask for one of: ${parts.join(', ')}.`
  );
}

function offsetIn(query: URLSearchParams): number {
  return count(query, 'offset', 0, /^-?\d{1,15}$/);
}

function count(
  query: URLSearchParams,
  name: string,
  otherwise = 0,
  form = /^\d{1,15}$/
): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  if (form.test(text)) return Number(text);
  throw invalidInput(
    `${name} is no number.`,
    'Give a whole number, or leave it out.'
  );
}
