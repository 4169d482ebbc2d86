import type { Action, Turn } from '../model-server/actions.ts';

/** A model that follows a worker's instructions. */
export interface WorkerModel {
  script: (turn: Turn) => Action[] | undefined;
  /** Lets it end a task whose payload has `hold`. */
  release: (taskId: string) => void;
  /** Tools that it was offered by any server called `agents`. */
  offers: () => string[];
  /** How many waits of the full length it has begun. */
  longWaits: () => number;
}

/** In a worker's role: its first waits are short. */
export const hasty = 'Look often at first.';

/** More calls in a row than some programs take for a loop. */
const shortWaits = 12;

/** In a worker's role: its key is refused. */
export const refused = 'Nobody lets you in.';

/**
 * It asks for a command, says that it has the task, runs what the payload has
 * as `shell`, reports progress while it is to `hold`, ends the task, and asks
 * again. When it is asked to cancel a task, it does.
 */
export function workerModel(): WorkerModel {
  const released = new Set<string>();
  const offered = new Set<string>();
  /** After how many results a task that was held ended. */
  const ends = new Map<string, number>();
  let longWaits = 0;

  const hold = (taskId: string, length: number): Action[] => {
    const end = ends.get(taskId) ?? length;
    if (length > end) return [wait];
    if (!released.has(taskId))
      return [{ do: 'sleep', ms: 100 }, emit(taskId, 'progress')];
    ends.set(taskId, length);
    return [emit(taskId, 'result')];
  };

  return {
    release: (taskId) => released.add(taskId),
    offers: () => [...offered].sort(),
    longWaits: () => longWaits,
    script: (turn) => {
      if (!turn.prompt.startsWith('You are the worker')) return undefined;
      if (turn.prompt.includes(refused))
        return [{ do: 'status', status: 401, message: 'Wrong key' }];
      const isCoded = turn.tools.includes('functions/exec');
      const [lookedUp = '', ...others] = turn.toolResults.map(plain);
      const listed = isCoded ? namesIn(lookedUp) : [];
      const names = [...turn.offers.map(({ name }) => name), ...listed];
      for (const name of names) {
        const own = /agents(?:-worker)?[-_/]+(.+)$/.exec(name)?.[1];
        if (own) offered.add(own);
      }
      if (isCoded && turn.toolResults.length === 0) return [lookUp];
      const results = isCoded ? others : turn.toolResults.map(plain);
      const key = ['messages', 'responses'].includes(turn.api)
        ? 'agents'
        : 'agents-worker';
      const isHasty =
        turn.prompt.includes(hasty) && results.length < shortWaits;
      const next = nextAfter(results, hold).map((action) => {
        if (action.do !== 'mcp') return action;
        if (action !== wait) return { ...action, server: key };
        if (isHasty) return { ...lookOnce, server: key };
        longWaits += 1;
        return { ...action, server: key };
      });
      return [...turn.toolResults.map(() => done), ...next];
    }
  };
}

/** Stands for each call whose result is there. */
const done: Action = { do: 'tool', name: 'done', arguments: {} };

/** Codex's newer models learn of other tools only through a script. */
const lookUp: Action = {
  do: 'tool',
  name: 'exec',
  arguments: {
    input:
      'text(JSON.stringify(ALL_TOOLS.filter(({ name }) => name.startsWith("mcp__"))))'
  }
};

const lookOnce = call('wait_for_command', { timeout_ms: 100 });
const wait = call('wait_for_command', { timeout_ms: 45_000 });

function nextAfter(
  results: string[],
  hold: (taskId: string, length: number) => Action[]
): Action[] {
  if (results.at(-1)?.includes('"type":"stop"'))
    return [{ do: 'say', text: 'stopped' }];
  const at = results.findLastIndex((one) => one.includes('"type":"task"'));
  const since = results.slice(Math.max(at, 0));
  const [task = ''] = since;
  const taskId = /"task_id":"([\w.-]+)"/.exec(task)?.[1];
  if (at < 0 || taskId === undefined) return [wait];
  if (since.length === 1) return [emit(taskId, 'ack')];
  const asked = since.findLastIndex((one) =>
    one.includes('"cancel_requested":true')
  );
  if (asked >= 0)
    return [asked === since.length - 1 ? emit(taskId, 'canceled') : wait];
  if (task.includes('"hold":true')) return hold(taskId, results.length);
  const command = /"shell":"([^"\\]+)"/.exec(task)?.[1];
  const work: Action[] = command ? [{ do: 'shell', command }] : [];
  const steps = [...work, emit(taskId, 'result')];
  return [steps[since.length - 2] ?? wait];
}

function emit(task_id: string, type: string): Action {
  const isEnd = type === 'result' || type === 'canceled';
  return call('emit_event', { type, task_id, ...(isEnd && { done: true }) });
}

function call(tool: string, input: object): Extract<Action, { do: 'mcp' }> {
  return { do: 'mcp', server: 'agents', tool, arguments: input };
}

/** Some programs show the JSON of a result as text within their own. */
function plain(result: string): string {
  return result.replace(/\\+"/g, '"').replace(/":\s+/g, '":');
}

function namesIn(listed: string): string[] {
  return [...listed.matchAll(/"name":"(\w+)"/g)].flatMap(
    ([, name]) => name ?? []
  );
}
