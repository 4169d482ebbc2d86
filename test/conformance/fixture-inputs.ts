import type { AddedCall, AddedTool } from '../../src/index.ts';
import { text } from './fixture-content.ts';

type Requests = Record<string, { method: string; params: unknown }>;
type Answer = ReturnType<AddedTool['call']>;

const nothing = { type: 'object', properties: {} };

function form(message: string, field: string, type = 'string') {
  return {
    method: 'elicitation/create',
    params: {
      message,
      requestedSchema: {
        type: 'object',
        properties: { [field]: { type } },
        required: [field]
      }
    }
  };
}

function question(words: string) {
  const content = { type: 'text', text: words };
  return {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content }], maxTokens: 100 }
  };
}

const roots = { method: 'roots/list', params: {} };

function required(inputRequests: Requests, requestState?: string): Answer {
  return {
    content: [],
    resultType: 'input_required',
    inputRequests,
    ...(requestState === undefined ? {} : { requestState })
  };
}

function done(words: string): Answer {
  return { content: [text(words)] };
}

/** A tool that is done once it has an answer to each request. */
function asking(
  name: string,
  requestsFor: (call: AddedCall) => Requests,
  state?: string
): AddedTool {
  return {
    name,
    description: 'Asks its client for more.',
    inputSchema: nothing,
    call: (_, call) => {
      const requests = requestsFor(call);
      const { responses = {}, state: echoed } = call.input ?? {};
      const isComplete = Object.keys(requests).every(
        (key) => typeof responses[key] === 'object'
      );
      return isComplete && echoed === state
        ? done('state-ok')
        : required(requests, state);
    }
  };
}

const name = () => ({ user_name: form('What is your name?', 'name') });
const confirm = () => ({ confirm: form('Please confirm', 'ok', 'boolean') });

/** Tools of the suite that use `input_required`, by its own description. */
export const inputTools: AddedTool[] = [
  asking('test_input_required_result_elicitation', name),
  asking('test_input_required_result_sampling', () => ({
    capital_question: question('What is the capital of France?')
  })),
  asking('test_input_required_result_list_roots', () => ({
    client_roots: roots
  })),
  asking('test_input_required_result_request_state', confirm, 'state'),
  asking('test_input_required_result_tampered_state', confirm, 'state'),
  asking(
    'test_input_required_result_multiple_inputs',
    () => ({
      ...name(),
      greeting: question('Generate a greeting'),
      client_roots: roots
    }),
    'state'
  ),
  asking('test_input_required_result_capabilities', ({ input }) => ({
    ...(input?.capabilities.elicitation ? name() : {}),
    greeting: question('Generate a greeting')
  })),
  asking('test_missing_capability', () => ({ greeting: question('Greet') })),
  asking('test_streaming_elicitation', name),
  {
    name: 'test_input_required_result_multi_round',
    description: 'Asks its client twice.',
    inputSchema: nothing,
    call: (_, { input }) => {
      const { state } = input ?? {};
      if (state === 'second') return done('Both are there.');
      return state === 'first'
        ? required({ step2: form('Step 2: Which color?', 'color') }, 'second')
        : required({ step1: form('Step 1: Which name?', 'name') }, 'first');
    }
  },
  {
    name: 'test_custom_header',
    description: 'Has a parameter that a header repeats.',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } }
    },
    call: ({ region }) => done(String(region))
  },
  {
    name: 'test_logging_tool',
    description: 'Has nothing to log for this client.',
    inputSchema: nothing,
    call: () => done('Done.')
  }
];
