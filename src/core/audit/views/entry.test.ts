import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ParsedEntry } from '../../../../test/kit/judges/iac-parser.ts';
import {
  agentId,
  createLog
} from '../../../../test/kit/servers/logged-agents.ts';
import { visibleText } from '../../text.ts';
import { createRedactor } from '../redaction/redact.ts';
import { markdownLine } from './entry.ts';

/** Text that can break a markdown log, and ordinary words. */
const pieces = [
  ...['```', '````````', '`', '~~~', '```\n```', '\n````js\n', '# Head\n'],
  ...['### 🤖 ', '\n### 🤖 forged\n', '---\n', '\n---\n', '\n***\n', '====\n'],
  ...['<!-- ', ' -->', '</details>', '<details>\n', '</summary>', '<br>'],
  ...['- [x] ✅ **Done** (1.0s) | `#deadbeef` | ', '- [ ] ', ' | ', '|', '\\'],
  ...['<summary>📤 Output (3 chars)</summary>\n', '## History\n', ' (1.0s)'],
  ...['<!-- troupe: journal 0 bytes, 0 spawns, shown from 0 -->\n'],
  ...['$1', '$&', '$`', '\\g<1>', '\\1', '%s', '{{x}}', '<%= x %>', '$\n'],
  ...['\0', '\u001b[2J\u001b[31m', '\b\b', '\u007f', '\u0085', '\u009b'],
  ...['\u202e', '\u2066', '\u200f', '\u061c', '\u200b', '\ufeff', '\u2028'],
  ...['\r\n', '\r', '\n', '\n\n\n', '\t', ' ', '\v', '\f', '   \n'],
  ...[
    '\ud83d',
    '\ude00',
    '😀',
    '👩‍💻',
    'é',
    '한국어',
    'word',
    'a b c',
    ': ',
    '…'
  ]
];

const text = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...pieces) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) }
    ),
    { maxLength: 14 }
  )
  .map((parts) => parts.join(''));

/** Texts that are stored inline, and texts that are stored in a file. */
const anyText = fc
  .tuple(text, fc.constantFrom(1, 1, 1, 1, 400))
  .map(([part, times]) => part.repeat(times))
  .filter((all) => all.length <= 50_000);

const statuses = [
  'completed',
  'failed',
  'timeout',
  'canceled',
  'interrupted'
] as const;

const agent = fc.record({
  prompt: anyText,
  result: anyText,
  error: fc.option(text),
  model: fc.option(text),
  status: fc.constantFrom(...statuses),
  ended: fc.boolean(),
  files: fc.array(
    fc.record({
      path: text,
      added: fc.option(fc.nat()),
      removed: fc.nat(),
      shared: fc.constant<true>(true)
    }),
    { maxLength: 3 }
  )
});

test('entries of any text and any end parse back, with their controls visible', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(agent, { minLength: 1, maxLength: 4 }),
      async (agents) => {
        const log = createLog();
        try {
          for (const [index, agent] of agents.entries()) {
            const { prompt, result, model, error, status } = agent;
            const { ended, files } = agent;
            const id = agentId(index);
            const task = prompt.split('\n')[0]?.slice(0, 400) ?? '';
            log.spawn(id, prompt, { task, model });
            const changed =
              files.length > 0
                ? { files_changed: files, files_changed_total: 30 }
                : {};
            const end = { model, error, status, ...changed };
            if (ended) log.finish(id, result, end);
          }
          await log.newView().render([], new Date('2026-11-21T12:00:00Z'));
          const entries = log.entries().reverse();
          expect(entries.map(({ id }) => id)).toEqual(
            agents.map((_, index) => agentId(index))
          );
          for (const [index, entry] of entries.entries())
            check(entry, agents[index]);
        } finally {
          log.workspace.remove();
        }
      }
    ),
    { numRuns: 250 }
  );
}, 120_000);

type Agent = typeof agent extends fc.Arbitrary<infer T> ? T : never;

function check(entry: ParsedEntry, agent: Agent | undefined): void {
  if (!agent) throw new Error('an entry too many');
  const { prompt, result, error, ended } = agent;
  expect(entry.input).toEqual(as(prompt));
  expect(entry.done).toBe(ended);
  for (const line of [entry.title, entry.engine, entry.error ?? ''])
    expect(line).not.toMatch(/[`<>|\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  expect([...entry.title].length).toBeLessThanOrEqual(80);
  if (!ended) {
    expect(entry.output).toBeUndefined();
    return;
  }
  const failed = agent.status !== 'completed' && error;
  if (failed)
    expect(entry.errorBlock?.text ?? entry.error ?? '').toBe(shown(error));
  if (result !== '') expect(entry.output).toEqual(as(result));
  const rest = agent.files.length > 0 ? [''] : [];
  expect(entry.files).toEqual([
    ...agent.files.map(({ path }) => markdownLine(path.slice(0, 200), 400)),
    ...rest
  ]);
}

function as(text: string) {
  return { chars: text.length, text: shown(text) };
}

/**
 * Control characters are made visible. Half of a surrogate pair becomes U+FFFD,
 * because UTF-8 cannot encode it.
 */
function shown(text: string): string {
  return visibleText(Buffer.from(text).toString('utf8'));
}

test.each([
  ['a fence in the prompt', '```\n---\n### 🤖 x\n```'],
  ['a fence longer than any', `${'`'.repeat(40)}\n---\n`],
  ['a trailing newline', 'text\n\n'],
  ['nothing but a newline', '\n'],
  ['an end of details', '</details>\n\n---\n\n### 🤖 y\n'],
  ['replacement patterns', "$1 $& $` $' \\g<1> \\0"],
  ['a direction mark written out', '\\u202e ␛[31m']
])('%s parses back unchanged', async (_, prompt) => {
  const log = createLog();
  log.spawn(agentId(1), prompt, { task: prompt });
  log.finish(agentId(1), prompt);
  await log.newView().render([]);

  expect(log.entries()).toMatchObject([
    { input: { text: prompt }, output: { text: prompt } }
  ]);
  log.workspace.remove();
});

test('a text above 50,000 characters is shown by its two ends, with the path of the rest', async () => {
  const log = createLog();
  const exact = 'x'.repeat(50_000);
  const long = `${'a'.repeat(24_999)}😀${'m'.repeat(100)}😀${'z'.repeat(24_999)}`;
  log.spawn(agentId(1), exact);
  log.finish(agentId(1), long);
  await log.newView().render([]);

  const [entry] = log.entries();
  expect(entry?.input.text).toBe(exact);
  expect(entry?.output?.chars).toBe(50_102);
  expect(entry?.output?.text).toBe(
    `${'a'.repeat(24_999)}\n\n… 104 characters left out; the whole text is in spawns/00000001/result.txt …\n\n${'z'.repeat(24_999)}`
  );
  log.workspace.remove();
});

test('a secret at either cut of a long text is masked completely', async () => {
  const secret = `known-${'s'.repeat(60)}`;
  const token = `ghp_${'T0k3n'.repeat(8)}`;
  const log = createLog({ secrets: [secret] });
  for (const [index, hidden] of [secret, token].entries())
    for (const shift of [0, 1, 10, 30, hidden.length - 1, hidden.length]) {
      const at = 25_000 - shift;
      const long = [
        `${'a '.repeat(at / 2)}${' '.repeat(at % 2)}${hidden}`,
        'm'.repeat(1000 + 70_000 * index),
        `${hidden}${'z '.repeat(13_000).slice(0, 25_000 - shift)}`
      ].join(' ');
      const id = agentId(index * 1000 + shift);
      log.spawn(id, 'x');
      log.finish(id, long);
    }
  await log.newView().render([]);

  const all = log.read('IAC.md');
  expect(/s{3}|T0k|n-s|k3n/.exec(all)?.index).toBeUndefined();
  expect(all.split('[redacted]').length - 1).toBeGreaterThanOrEqual(12);
  log.workspace.remove();
});

test('a text whose file is missing is reported as missing', async () => {
  const log = createLog();
  log.spawn(agentId(1), 'p'.repeat(20_000));
  rmSync(`${log.workspace.record}/spawns`, { recursive: true });
  await log.newView().render([]);

  expect(log.entries()[0]?.input.text).toBe(
    '(the text was in spawns/00000001/prompt.txt, which is gone)'
  );
  log.workspace.remove();
});

test('a text on one line is cut between characters', () => {
  expect(markdownLine('😀'.repeat(100), 80)).toBe(`${'😀'.repeat(79)}…`);
  expect(markdownLine('a'.repeat(80), 80)).toBe('a'.repeat(80));
  expect(markdownLine(' a\r\n\tb\u0000c ', 80)).toBe('a b c');
  expect(markdownLine('`x` <b> |', 80)).toBe("'x' ‹b› ¦");
});

test('a line has no link and no image, which a viewer would load', () => {
  expect(markdownLine('[Page](a.md) ![i](http://x/y.png)', 80)).toBe(
    '[Page] (a.md) ![i] (http://x/y.png)'
  );
});

test('a secret cut by the limit of a record is masked, not shortened', () => {
  const secret = 'S3CRET-S3CRET-S3CRET';
  const redact = createRedactor([secret]);
  expect(redact(`${'a'.repeat(390)}${secret}`, 0, 400)).toBe(
    `${'a'.repeat(390)}[redacted]`
  );
});

test.each([
  ['Canceled', undefined],
  ['Canceled: enough', 'enough'],
  ['Canceled before it started', 'before it started'],
  ['Canceled before it started: enough', 'before it started: enough']
])(
  'an agent with the error "%s" is called canceled once',
  async (error, message) => {
    const log = createLog();
    log.spawn(agentId(1), 'x');
    log.finish(agentId(1), '', { status: 'canceled', error });
    await log.newView().render([]);
    const entry = { word: 'Canceled', error: message, seconds: '12.3' };
    expect(log.entries()).toMatchObject([entry]);
    log.workspace.remove();
  }
);
