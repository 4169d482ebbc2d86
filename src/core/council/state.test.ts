import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CouncilState,
  decodeWith,
  emptyState,
  encode,
  encodeWith,
  type KnownLines,
  type Response
} from './state.ts';

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\n  "feedback": [\n', '첫째 👩‍👩‍👧', '\u2028', '"],\n')
);

test('a file written with known lines equals the file written without them', () => {
  fc.assert(
    fc.property(fc.array(fc.array(texts, { maxLength: 3 })), (batches) => {
      let known: KnownLines | undefined;
      let state = talk([]);
      for (const [index, batch] of batches.entries()) {
        const added = batch.map((content, n) =>
          response(`${index}-${n}`, content)
        );
        state = {
          ...state,
          note: index,
          feedback: [...state.feedback, ...added]
        };
        const written = encodeWith(state, known);
        expect(written.bytes.toString()).toBe(encode(state));
        known = written.known;
      }
    })
  );
});

test('a file read with known lines gives the state read without them', () => {
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

describe('known lines are not used for a file', () => {
  const state = talk(['One.', 'Two.']);
  const { known } = encodeWith(state, undefined);
  const text = encode(state);
  test.each([
    ['in which a response was changed', text.replace('One.', 'Eins')],
    ['in which a response is missing', encode(talk(['One.']))],
    ['of another council', encode(talk(['Else.', 'Two.', 'Three.']))],
    ['that is formatted differently', JSON.stringify(state)],
    ['that is cut off', text.slice(0, -20)],
    [
      'that is cut off within the known lines',
      text.slice(0, text.indexOf('Two'))
    ],
    [
      'with more text on the last known line',
      text.replace('}\n  ]', '} x\n  ]')
    ],
    [
      'with an invalid response after the known lines',
      text.replace('}\n  ]', '},\n    {"id":"f"}\n  ]')
    ],
    [
      'that contains the known lines twice',
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

  test('when no responses are known', () => {
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
