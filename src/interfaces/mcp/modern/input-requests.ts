import { z } from 'zod';
import { hasForms, type RequestInput } from '../transport/protocol.ts';
import type { Params } from './bridge.ts';
import { unsealed } from './request-state.ts';
import { ModernError } from './revision.ts';

const inputSchema = z.looseObject({
  inputResponses: z.record(z.string(), z.unknown()).default({}),
  requestState: z.string().optional()
});

/**
 * What a request brings of an earlier try.
 * @param scope what its state has to be for
 * @throws ModernError
 */
export function inputIn(
  params: Params,
  capabilities: Params,
  scope: string
): RequestInput {
  const { data } = inputSchema.safeParse(params);
  if (!data)
    throw new ModernError(
      -32602,
      '"inputResponses" is an object, and "requestState" a text.'
    );
  const { inputResponses: responses, requestState: state } = data;
  return {
    capabilities,
    responses,
    ...(state === undefined ? {} : { state: unsealed(state, scope) })
  };
}

/** The capabilities that requests need and a client does not have. */
export function missingIn(
  requests: unknown,
  capabilities: Params
): Params | undefined {
  const missing = Object.values(Object(requests)).flatMap((request) => {
    const needed = neededBy(request);
    return needed && !isIn(needed, capabilities) ? [needed] : [];
  });
  return missing.length > 0 ? Object.assign({}, ...missing) : undefined;
}

function neededBy(request: unknown): Params | undefined {
  const { method, params } = Object(request);
  switch (method) {
    case 'elicitation/create': {
      const mode = Object(params).mode === 'url' ? 'url' : 'form';
      return { elicitation: { [mode]: {} } };
    }
    case 'sampling/createMessage':
      return { sampling: {} };
    case 'roots/list':
      return { roots: {} };
    default:
      return undefined;
  }
}

function isIn({ elicitation, ...others }: Params, has: Params): boolean {
  if (!elicitation) return Object.keys(others).every((name) => has[name]);
  return Object.hasOwn(Object(elicitation), 'form')
    ? hasForms(has)
    : Object.hasOwn(Object(has.elicitation), 'url');
}
