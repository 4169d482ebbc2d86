import { expect, test } from 'vitest';
import { inputIn, missingIn } from './input-requests.ts';
import { sealed } from './request-state.ts';

const form = { method: 'elicitation/create', params: { message: '?' } };
const page = { method: 'elicitation/create', params: { mode: 'url' } };
const sampling = { method: 'sampling/createMessage', params: {} };
const roots = { method: 'roots/list' };

test.each([
  [{ form }, { elicitation: {} }, undefined],
  [{ form }, { elicitation: { form: {}, url: {} } }, undefined],
  [{ form }, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
  [{ page }, { elicitation: {} }, { elicitation: { url: {} } }],
  [{ page }, { elicitation: { url: {} } }, undefined],
  [{ form, sampling }, {}, { elicitation: { form: {} }, sampling: {} }],
  [{ roots, sampling }, { roots: {} }, { sampling: {} }],
  [undefined, {}, undefined]
])('of %j a client with %j lacks %j', (requests, capabilities, missing) => {
  expect(missingIn(requests, capabilities)).toEqual(missing);
});

test('a state comes back as it was, for the same request of the same client', () => {
  const requestState = sealed('a.b state', 'one');
  const inputResponses = { form: { action: 'accept' } };
  const params = { requestState, inputResponses };
  expect(inputIn(params, { roots: {} }, 'one')).toEqual({
    capabilities: { roots: {} },
    responses: inputResponses,
    state: 'a.b state'
  });
  expect(inputIn({}, {}, 'one')).toEqual({ capabilities: {}, responses: {} });
});

test.each([
  ['of another request', sealed('state', 'two')],
  ['that was changed', `${sealed('state', 'one')}x`],
  ['without a signature', 'state'],
  ['with an empty signature', '.state'],
  ['that is no text', 7]
])('a state %s is refused', (_, requestState) => {
  expect(() => inputIn({ requestState }, {}, 'one')).toThrow(
    expect.objectContaining({ code: -32602 })
  );
});

test('responses that are no object are refused', () => {
  for (const inputResponses of [null, 7, 'x', []])
    expect(() => inputIn({ inputResponses }, {}, 'one')).toThrow(
      expect.objectContaining({ code: -32602 })
    );
});
