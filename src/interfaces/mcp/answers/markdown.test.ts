import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hostileText } from '../../../../test/kit/judges/hostile-text.ts';
import { markdownOf } from './markdown.ts';

const text = fc.oneof(
  hostileText,
  fc
    .array(
      fc.constantFrom(
        ...['\n', '\r', '\r\n', '\u2028', '\u2029', '\u0085', '\u000b', '\f'],
        ...['> ', '## conclusion: ', '### id: x', '- status: closed', '```'],
        ...['---', '===', '<!--', '\u202e', '\u200f', ' · author: x', 'words']
      ),
      { maxLength: 12 }
    )
    .map((parts) => parts.join(''))
);

const name = text.filter((one) => one.trim() !== '');
const id = fc.uuid();
const time = '2026-11-22T05:00:00.000Z';

const response = fc.record({
  id,
  author: name,
  content: text,
  created_at: fc.constant(time)
});

const answer = fc.record({
  agent_name: name,
  session_id: id,
  status: fc.constantFrom('active', 'closed'),
  request: fc.record({
    id,
    created_by: name,
    created_at: fc.constant(time),
    content: text
  }),
  responses: fc.array(response, { maxLength: 4 }),
  next_cursor: fc.option(id),
  more: fc.boolean(),
  participants: fc.array(
    fc.record({
      agent_name: name,
      last_seen: fc.constant(time),
      responses: fc.nat(9)
    }),
    { minLength: 1, maxLength: 3 }
  ),
  conclusion: fc.record({
    author: name,
    created_at: fc.constant(time),
    content: text
  })
});

/** Everything that a Markdown reader may treat as the end of a line. */
const lineEnds = /\r\n|[\n\r\u000b\f\u0085\u2028\u2029]/;

test('no content or name can imitate the structure around it', () => {
  fc.assert(
    fc.property(answer, (facts) => {
      const lines = markdownOf(facts).split(lineEnds);
      // Quoted lines are content; all other lines are structure.
      const frame = lines.filter((line) => line !== '' && !/^> /.test(line));
      const kinds = frame.map((line) => /^(#{2,3}|-) (?=\S)/.exec(line)?.[1]);
      expect(kinds).toEqual([
        ...['-', '-', '-', '-', '-'],
        '##',
        '##',
        ...facts.responses.map(() => '###'),
        '##',
        ...facts.participants.map(() => '-'),
        '##'
      ]);
      // id, author and time: no name can add a fact to its line.
      for (const line of frame.filter((one) => one.startsWith('###')))
        expect(line.split(' · ')).toHaveLength(3);
      expect(frame.join('')).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
    })
  );
});

test('the text has every id, every scalar and all content', () => {
  fc.assert(
    fc.property(answer, (facts) => {
      const shown = markdownOf(facts);
      const { agent_name, session_id, status, next_cursor, more } = facts;
      for (const part of [
        `- session_id: ${session_id}\n`,
        `- status: ${status}\n`,
        `- next_cursor: ${next_cursor}\n`,
        `- more: ${more}\n`,
        `## request: id: ${facts.request.id} · `,
        `## responses: ${facts.responses.length || 'none'}`,
        ...facts.responses.map((one) => `### id: ${one.id} · author: `)
      ])
        expect(shown).toContain(part);
      expect(shown.startsWith('- agent_name: ')).toBe(true);
      expect(agent_name).not.toBe('');
      const contents = [
        facts.request.content,
        ...facts.responses.map(({ content }) => content),
        facts.conclusion.content
      ];
      const quoted = shown
        .split('\n')
        .filter((line) => line.startsWith('> '))
        .map((line) => line.slice(2));
      expect(quoted).toEqual(contents.flatMap((one) => one.split(lineEnds)));
    })
  );
});

test('an answer is a page of markdown', () => {
  expect(
    markdownOf({
      agent_name: 'claude\n## x',
      status: 'active',
      request: { id: 'q1', created_by: 'claude', content: 'Which?\n# One' },
      responses: [
        { id: 'r1', author: 'codex', content: 'The first.\n\n> no' },
        { id: 'r2', author: 'gemini', content: 'The second.' }
      ],
      next_cursor: null,
      participants: [{ agent_name: 'codex', responses: 1 }],
      summons: []
    })
  ).toBe(
    [
      '- agent_name: claude\\n## x',
      '- status: active',
      '- next_cursor: null',
      '',
      '## request: id: q1 · created_by: claude',
      '',
      '> Which?',
      '> # One',
      '',
      '## responses: 2',
      '',
      '### id: r1 · author: codex',
      '',
      '> The first.',
      '> ',
      '> > no',
      '',
      '### id: r2 · author: gemini',
      '',
      '> The second.',
      '',
      '## participants: 1',
      '',
      '- agent_name: codex · responses: 1',
      '',
      '## summons: none'
    ].join('\n')
  );
});
