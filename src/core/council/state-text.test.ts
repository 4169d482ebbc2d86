import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CouncilState, emptyState, type Response } from './state.ts';
import {
  decodeWith,
  encode,
  encodeWith,
  type KnownLines
} from './state-text.ts';

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\n  "feedback": [\n', '첫째 👩‍👩‍👧', '\u2028', '"],\n')
);

test('a file written with what is known is the one written without', () => {
  fc.assert(
    fc.property(fc.array(fc.array(texts, { maxLength: 3 })), (batches) => {
      let known: KnownLines | undefined;
      let state = talk([]);
      for (const [index, batch] of batches.entries()) {
        const said = batch.map((content, n) =>
          response(`${index}-${n}`, content)
        );
        state = {
          ...state,
          note: index,
          feedback: [...state.feedback, ...said]
        };
        const written = encodeWith(state, known);
        expect(written.bytes.toString()).toBe(encode(state));
        known = written.known;
      }
    })
  );
});

test('a file read with what is known is the one read without', () => {
  fc.assert(
    fc.property(
      fc.array(texts, { minLength: 1 }),
      fc.array(texts),
      (first, more) => {
        const before = talk(first);
        const { known } = encodeWith(before, undefined);
        const after = { ...talk([...first, ...more]), note: first };
        const read = decodeWith(Buffer.from(encode(after)), known);
        expect(read?.state).toEqual(after);
        expect(read?.state.feedback[0]).toBe(before.feedback[0]);
        expect(encodeWith(after, read?.known).bytes.toString()).toBe(
          encode(after)
        );
      }
    )
  );
});

describe('what is known is of no use for a file', () => {
  const state = talk(['One.', 'Two.']);
  const { known } = encodeWith(state, undefined);
  const text = encode(state);
  test.each([
    ['in which a response was changed', text.replace('One.', 'Eins')],
    ['in which one is missing', encode(talk(['One.']))],
    ['of another council', encode(talk(['Else.', 'Two.', 'Three.']))],
    ['that is written in another way', JSON.stringify(state)],
    ['that is cut off', text.slice(0, -20)],
    ['that is cut off amid them', text.slice(0, text.indexOf('Two'))],
    ['with more on their last line', text.replace('}\n  ]', '} x\n  ]')],
    [
      'with something that is no response behind them',
      text.replace('}\n  ]', '},\n    {"id":"f"}\n  ]')
    ],
    [
      'that has them elsewhere, too',
      text.replace(
        '{\n',
        `{\n  "note": {\n  "feedback": [\n${known.lines}\n  ]},\n`
      )
    ]
  ])('%s', (_, changed) => {
    expect(changed).not.toBe(text);
    expect(decodeWith(Buffer.from(changed), known)).toBeUndefined();
  });

  test('that is not UTF-8', () => {
    const bytes = Buffer.from(encode({ ...state, note: 'é' }), 'latin1');
    expect(decodeWith(bytes, known)).toBeUndefined();
  });

  test('when nothing is', () => {
    const nothing = encodeWith(talk([]), undefined).known;
    expect(decodeWith(Buffer.from(text), nothing)).toBeUndefined();
  });
});

function talk(contents: string[]): CouncilState {
  return {
    ...emptyState,
    feedback: contents.map((content, index) => response(`f-${index}`, content))
  };
}

function response(id: string, content: string): Response {
  return {
    id,
    request_id: 'r-1',
    author: 'bob',
    content,
    created_at: '2026-01-02T03:04:05.678Z'
  };
}
