/** Measures a program that prints 100 MB: time, memory and completeness. */
import { closeSync, openSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fact, median, row } from '../statistics.mjs';
import { timeChild } from '../support.mjs';
import { comparison } from './comparison.mjs';
import { isOurs, titleOf, troupe } from './list.mjs';
import { Session } from './session.mjs';
import { linesOf, setStage } from './stage.mjs';

const bytes = 100 * 1024 * 1024;
const answerChars = 1024 * 1024;
const kinds = { text: 'plain text', lines: 'JSON lines' };
const runs = 3;
/** A server that takes longer is measured once. */
const patienceMs = 5000;

export async function measureOutput(all, { node, version }) {
  const ours = all.find(isOurs);
  const answers = writeAnswers();
  const one = (peer, kind) => ({
    ...{ peer, kind, seen: [] },
    stage: prepareStage(answers)
  });
  const plain = [troupe(ours.path, 'plain'), ...all.filter(({ run }) => run)];
  const tried = [
    ...plain.map((peer) => one(peer, 'text')),
    ...all.filter(({ track }) => track).map((peer) => one(peer, 'lines'))
  ];
  const floors = { text: [], lines: [] };
  try {
    for (let run = 0; run < runs; run += 1)
      for (const { peer, kind, stage, seen } of tried) {
        if (seen.some(({ ms }) => ms > patienceMs)) continue;
        if (isOurs(peer)) floors[kind].push(await timeCat(stage, kind));
        seen.push(await runOnce(peer, kind, stage, node));
      }
  } finally {
    for (const { stage } of tried) stage.remove();
    answers.remove();
  }
  return {
    title: `Peers: 100 MB of output, Node ${version}`,
    rows: [
      ...tried.flatMap((one) => rowsOf(one, floors[one.kind])),
      fasterOf(tried.filter(({ kind }) => kind === 'text')),
      completeRow(tried)
    ],
    notes: [
      'Floor: `cat` of the same bytes into a file. Time is from the call to the answer in the hands of the caller; where agents are followed, until its beginning and its length are, and the file that has all of it.',
      'A server that has not answered after 20 s is left.'
    ]
  };
}

function writeAnswers() {
  const line = `${'The quick brown fox jumps over it. '.repeat(29)}\n`;
  const event = {
    type: 'user',
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't', content: line }]
    }
  };
  const events = `${JSON.stringify(event)}\n`;
  const end = linesOf('a'.repeat(answerChars));
  const text = line.repeat(Math.ceil(bytes / line.length));
  const stage = setStage({
    text,
    lines: events.repeat(Math.ceil(bytes / events.length)) + end
  });
  return { ...stage, chars: { text: text.length, lines: answerChars } };
}

/** A workspace for one server; troupe also gets an engine for plain text. */
function prepareStage({ answers, chars }) {
  const stage = setStage({ answers });
  const plugin = stage.file(
    'plain.mjs',
    `export default {
  kind: 'cli',
  name: 'plain',
  description: 'Says a long text.',
  command: ${JSON.stringify(join(stage.programs, 'gemini'))},
  args: () => []
};
`
  );
  writeFileSync(
    join(stage.path, '.trouperc.json'),
    JSON.stringify({ plugins: [plugin, 'claude'] })
  );
  return { ...stage, chars };
}

async function runOnce(peer, kind, stage, node) {
  const session = new Session(peer, stage, node);
  try {
    await session.initialize();
    await session.request('tools/list');
    const before = session.memory().now;
    const from = performance.now();
    const answered = await answer(session, peer, stage).catch(
      ({ message }) => ({ problem: message })
    );
    const ms = performance.now() - from;
    const { peak } = session.memory();
    const whole = answered.length === stage.chars[kind];
    const kept = answered.file
      ? statSync(answered.file, { throwIfNoEntry: false })?.size ===
        statSync(stage.answers[kind]).size
      : false;
    return { ms, grown: peak - before, whole, kept, ...answered };
  } finally {
    await session.close();
  }
}

async function answer(session, { run, track }, stage) {
  if (run) {
    const { text } = await session.call(run('Say it.', stage.path));
    return { length: text.length };
  }
  const { data } = await session.call(track.start('Say it.', stage.path));
  const id = track.idOf(data);
  await session.call(track.wait(id));
  const result = await session.call(track.result(id));
  const file = track.output(stage, id);
  const length = track.lengthOf(result.data);
  if (length === undefined) return { problem: 'it is still at it', file };
  return { length, file };
}

async function timeCat(stage, kind) {
  const copy = openSync(join(stage.base, 'copy'), 'w');
  try {
    return await timeChild('cat', [stage.answers[kind]], {
      stdio: ['ignore', copy, 'ignore']
    });
  } finally {
    closeSync(copy);
  }
}

function rowsOf({ peer, kind, seen }, floor) {
  const name = `${kinds[kind]}: ${titleOf(peer)}`;
  const of = (what) => seen.map((one) => one[what]);
  const [{ whole, kept, length, problem }] = seen;
  const verdict = whole
    ? 'the answer is whole'
    : `not whole: ${problem ?? `${length.toLocaleString('en')} characters`}`;
  return [
    row(name, of('ms'), { floor }),
    row(`memory more than before: ${name}`, of('grown'), { unit: 'MB' }),
    fact(
      `answer: ${name}`,
      isOurs(peer) ? whole && kept : undefined,
      `${verdict}; ${kept ? 'all of it on disk' : 'not on disk'}`
    )
  ];
}

/** Whether troupe is faster than each peer with the whole answer. */
function fasterOf(plain) {
  return comparison(
    'plain text: faster than any peer with the whole answer',
    plain
      .filter(({ seen }) => seen.every(({ whole }) => whole))
      .map(({ peer, seen }) => ({
        peer,
        amount: median(seen.map(({ ms }) => ms))
      })),
    'ms',
    { summary: '100 MB of plain text, which peers put into one answer' }
  );
}

/** The servers with the whole answer and all of the output on disk. */
function completeRow(tried) {
  const both = tried.filter(({ seen }) =>
    seen.every(({ whole, kept }) => whole && kept)
  );
  const names = [...new Set(both.map(({ peer }) => titleOf(peer)))];
  return fact(
    'the answer whole, and all of the output on disk',
    names.includes('troupe'),
    names.join(', '),
    {
      summary: '100 MB: the answer whole, and all of it on disk',
      floor: names.filter((name) => name !== 'troupe').join(', ') || 'no peer',
      reach: 'both'
    }
  );
}
